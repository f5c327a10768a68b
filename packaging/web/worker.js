/* SPDX-License-Identifier: BSL-1.0
   Stands behind the program in its worker: takes a scenario and policies, replays one after the other, and answers
   with each result as soon as there is one. */
let said = [];
const program = allot({
  print: () => {},
  printErr: line => said.push(line),
});
program.then(() => postMessage({ready: true}), e => postMessage({broken: String(e)}));
onmessage = async message => {
  const {number, scenario, policies} = message.data, {FS, ccall} = await program;
  for (const policy of policies) {
    said = [];
    let status = 1;
    FS.writeFile('/scenario.json', scenario);
    const begin = performance.now();
    try {
      status = ccall('allot_replay', 'number', ['string', 'string', 'string'], ['/scenario.json', policy, '/out']);
    } catch (e) {
      // After that nothing of the program can be used.
      postMessage({number, policy, broken: String(e)});
      return;
    }
    const result = {number, policy, status, milliseconds: performance.now() - begin, said: said.join('\n')};
    if (status === 0) {
      const read = name => FS.readFile('/out/' + name, {encoding: 'utf8'});
      Object.assign(result, {report: read('report.html'), jobs: read('jobs.csv'), summary: JSON.parse(read('summary.json'))});
    }
    postMessage(result);
  }
};
