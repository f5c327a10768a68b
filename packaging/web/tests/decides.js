// SPDX-License-Identifier: BSL-1.0
// Runs the program of the page outside of a browser: decides.js PROGRAM SCENARIO POLICY DIRECTORY copies what it writes to
// the directory, and prints how long the replay took, in ms. The exit status is that of the replay.
'use strict';
const fs = require('fs');
const [program, scenario, policy, directory] = process.argv.slice(2);
require(program)({print: () => {}, printErr: line => console.error(line)}).then(({FS, ccall}) => {
  FS.writeFile('/scenario.json', fs.readFileSync(scenario));
  let begin, status;
  // The first run also compiles what the second one uses.
  for (let i = 0; i < 2 && !status; ++i) {
    begin = performance.now();
    status = ccall('allot_replay', 'number', ['string', 'string', 'string'], ['/scenario.json', policy, '/out']);
  }
  console.log(Math.round(performance.now() - begin));
  fs.mkdirSync(directory, {recursive: true});
  if (status === 0) for (const name of FS.readdir('/out')) {
    if (!name.startsWith('.')) fs.writeFileSync(directory + '/' + name, FS.readFile('/out/' + name));
  }
  process.exitCode = status;
}, error => {
  console.error(String(error));
  process.exitCode = 1;
});
