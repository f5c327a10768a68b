#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Opens a page in a headless Chromium at several widths, light and dark, and prints what is wrong with it.

  browser.py BROWSER PAGE[#PART] SCRIPT [--widths 390,800,1400] [--schemes light,dark] [--pictures STEM] [--site]
             [--loads N]

SCRIPT is JavaScript that runs in the page, after the page's own, at every width and in both colour schemes. It says
check(what, holds), may await, and has a real mouse: `await mouse([x, y], [x, y])` drags from one place of the window to
another, and clicks if they are one. Whatever the script checks, every page must keep quiet on the console, need nothing
from elsewhere, be no wider than the screen, and show each of its texts whole. With --pictures each is kept as
STEM-WIDTH-SCHEME.png. With --loads N the script waits until a page that loads itself again has come N times. A window of Chromium is at least 500 wide, so the widths are emulated, over its debugging pipe.
"""
import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

COMMON = r"""
const problems = [];
const check = (what, holds) => { if (!holds) problems.push(what); };
const by = id => document.getElementById(id);
const text = id => by(id).textContent;
const say = (to, event) => to.dispatchEvent(event);
const mouse = (from, to) => new Promise(done => {
  window.mouseDone = done;
  window.mouseAsked(JSON.stringify([from, to ?? from]));
});
const name_of = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className?.baseVal ?? e.className ?
  '.' + String(e.className.baseVal ?? e.className).replace(/ /g, '.') : '') + ' "' + e.textContent.trim().slice(0, 40) + '"';
const whole_texts = () => {
  // The ends of the longest are told in full elsewhere: by the title.
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
    if (!own.length || e.closest('script,style,noscript,svg') || !e.checkVisibility({visibilityProperty: true})) continue;
    const range = document.createRange();
    range.setStartBefore(own[0]);
    range.setEndAfter(own[own.length - 1]);
    for (const r of range.getClientRects()) {
      if (r.width < 1) continue;
      let cut = r.left < -1 || r.right > innerWidth + 1;
      for (let box = e; box && box !== document.body; box = box.parentElement) {
        const style = getComputedStyle(box), edge = box.getBoundingClientRect();
        // What may be scrolled can be read.
        if (/auto|scroll/.test(style.overflowX)) { cut = false; break; }
        if (style.overflowX === 'visible' || box.title) { if (box.title) { cut = false; break; } continue; }
        cut = cut || r.left < edge.left - 1 || r.right > edge.right + 1;
      }
      if (cut) { problems.push('cut: ' + name_of(e)); break; }
    }
  }
};
const apart = selector => {
  for (const axis of document.querySelectorAll(selector)) {
    const all = [...axis.querySelectorAll('i')].filter(i => i.checkVisibility()).map(i => i.getBoundingClientRect());
    all.forEach((a, k) => all.slice(k + 1).forEach(b => {
      const over = Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
      if (over) problems.push('labels overlap: ' + name_of(axis));
    }));
  }
};
const looks = () => {
  check('there is no text', document.body.innerText.length > 500);
  // A frame may have a page that is part of this one.
  const beside = location.href.replace(/[^/]*$/, '');
  const foreign = [...document.querySelectorAll('[src],[href],link,iframe:not([srcdoc])')].filter(e =>
    !e.getAttribute('href')?.startsWith('#') && !(IS_SITE && (e.tagName === 'A' || (e.src || e.href).startsWith(beside))));
  check('something comes from elsewhere: ' + foreign[0]?.outerHTML, foreign.length === 0);
  const root = document.documentElement;
  check('wider than the screen: ' + root.scrollWidth + ' of ' + root.clientWidth, root.scrollWidth <= root.clientWidth);
  check('the width is not the one asked for: ' + innerWidth, innerWidth === WIDTH);
  check('the scheme is not the one asked for', matchMedia('(prefers-color-scheme: dark)').matches === IS_DARK);
  for (const i of document.querySelectorAll('.plot svg path')) {
    check('a path is not a path', !/NaN|undefined|Infinity/.test(i.getAttribute('d')));
  }
  check('a drawing has no name', [...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-label')));
  whole_texts();
  apart('.chart .x');
  apart('.chart .y');
  apart('.chart .ends');
};
"""


class Browser:
    """One Chromium and one page of it."""

    def __init__(self, program, profile):
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()

        def as_three_and_four():
            # Out of the way first: one of them may be 3 or 4 itself.
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             f"--user-data-dir={profile}", "--remote-debugging-pipe"],
            preexec_fn=as_three_and_four, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest = b""
        self.number = 0
        self.session = None
        self.said = []
        self.loads = 0
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(domain + ".enable")
        self.ask("Runtime.addBinding", name="mouseAsked")

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def receive(self):
        while b"\0" not in self.rest:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise SystemExit("the browser is gone")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **params):
        number = self.send(method, **params)
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"]
            self.hear(message)

    def hear(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.said.append("error: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.said.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded":
            self.said.append("log: " + params["entry"]["text"])
        elif method == "Runtime.bindingCalled":
            (x, y), (to_x, to_y) = json.loads(params["payload"])
            steps = 1 if (x, y) == (to_x, to_y) else 8
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
            self.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
            for i in range(1, steps + 1):
                self.send("Input.dispatchMouseEvent", type="mouseMoved", button="left", buttons=1,
                          x=x + (to_x - x) * i / steps, y=y + (to_y - y) * i / steps)
            self.ask("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)
            self.send("Runtime.evaluate", expression="requestAnimationFrame(() => requestAnimationFrame(mouseDone))")

    def open(self, page, width, is_dark, loads):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])
        # First away: an address that differs in its part alone would not be loaded.
        self.navigate("about:blank", 1)
        self.said = []
        path, _, part = page.partition("#")
        self.navigate(pathlib.Path(path).resolve().as_uri() + (f"#{part}" if part else ""), loads)

    def navigate(self, url, loads):
        self.loads = 0
        self.ask("Page.navigate", url=url)
        while self.loads < loads:
            self.hear(self.receive())

    def run(self, script):
        """The value of the script, which may wait."""
        result = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            return ["thrown: " + result["exceptionDetails"]["exception"].get("description", "?")]
        return result["result"].get("value")

    def picture(self, path):
        """All of the page, as far as a picture of Chromium reaches."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.session = None
        self.send("Browser.close")
        self.process.wait(30)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("browser")
    parser.add_argument("page")
    parser.add_argument("script")
    parser.add_argument("--widths", default="390,800,1400")
    parser.add_argument("--schemes", default="light,dark")
    parser.add_argument("--pictures")
    parser.add_argument("--site", action="store_true", help="what is beside the page belongs to it, and links lead anywhere")
    parser.add_argument("--loads", type=int, default=1)
    options = parser.parse_args()
    script = pathlib.Path(options.script).read_text()
    is_fine = True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(options.browser, profile)
        for width in map(int, options.widths.split(",")):
            for scheme in options.schemes.split(","):
                browser.open(options.page, width, scheme == "dark", options.loads)
                common = COMMON.replace("WIDTH", str(width)).replace("IS_DARK", str(scheme == "dark").lower())
                common = common.replace("IS_SITE", str(options.site).lower())
                found = browser.run(f"(async () => {{ {common}\nlooks();\n{script}\nreturn problems; }})()")
                if options.pictures:
                    browser.picture(f"{options.pictures}-{width}-{scheme}.png")
                for problem in dict.fromkeys([*found, *browser.said]):
                    is_fine = False
                    print(f"{os.path.basename(options.page)} at {width}, {scheme}: {problem}")
        browser.close()
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
