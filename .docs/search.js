/* SPDX-License-Identifier: BSL-1.0
   The search of the reference, in place of doxygen's, whose results are a page in a frame: browsers keep a page that is
   a file from speaking to its frames. This one reads the same index (all_0.js and so on) as scripts, and the headings
   of all pages (sections.js, which ./dev docs makes). Its functions have the names that doxygen's pages call. */
'use strict';
class SearchBox {
  constructor(name, path) {
    this.path = path;
    this.entries = null;
  }
  // One script after the other: each sets searchData.
  async read() {
    this.entries = [];
    const parts = ['sections', ...[...indexSectionsWithContent[0]].map((_, i) => 'all_' + i.toString(16))], found = [];
    for (const part of parts) {
      await new Promise(done => {
        const script = document.createElement('script');
        script.src = `${this.path}/${part}.js`;
        script.onload = script.onerror = done;
        document.head.append(script);
      });
      found.push(...window.searchData);
    }
    const decoder = document.createElement('textarea');
    const plain = html => {
      decoder.innerHTML = html;
      return decoder.value;
    };
    for (const [, [name, ...places]] of found) {
      for (const [url, , scope] of places)
        this.entries.push({name: plain(name), scope: plain(scope || ''), url: url.replace(/^\.\.\//, '')});
    }
  }
  async OnSearchFieldChange(event) {
    const field = document.getElementById('MSearchField'), results = document.getElementById('MSearchResultsWindow');
    if (event.key === 'Escape') return this.CloseResultsWindow();
    if (event.key === 'Enter') return void results.querySelector('a')?.click();
    if (!this.entries) this.reading = this.read();
    await this.reading;
    const wanted = field.value.trim().toLowerCase();
    const rank = e => {
      const at = e.name.toLowerCase().indexOf(wanted);
      // The name itself, then names that begin so, then all others; chapters before members.
      return at < 0 ? 9 : (e.name.length === wanted.length ? 0 : at === 0 ? 1 : 2) + (e.scope ? 0.5 : 0);
    };
    const hits = wanted ? this.entries.map(e => [rank(e), e]).filter(([r]) => r < 9)
      .sort((a, b) => a[0] - b[0] || a[1].name.length - b[1].name.length).slice(0, 30) : [];
    results.replaceChildren(...hits.map(([, e]) => {
      const link = document.createElement('a'), scope = document.createElement('small');
      link.href = e.url;
      scope.textContent = e.scope;
      link.append(e.name, ' ', scope);
      return link;
    }));
    if (wanted && !hits.length) results.append('nothing found');
    results.style.display = wanted ? 'block' : 'none';
    const box = field.getBoundingClientRect();
    results.style.top = box.bottom + scrollY + 4 + 'px';
    results.style.left = Math.max(8, Math.min(box.left, innerWidth - results.offsetWidth - 8)) + 'px';
  }
  OnSearchFieldFocus(has) {
    const field = document.getElementById('MSearchField');
    if (has && field.value === 'Search') field.value = '';
  }
  CloseResultsWindow() {
    document.getElementById('MSearchResultsWindow').style.display = 'none';
    document.getElementById('MSearchField').value = '';
  }
  OnSearchSelectShow() {}
  OnSearchSelectHide() {}
  OnSearchSelectKey() {}
}
function init_search() {
  const field = document.getElementById('MSearchField');
  field.value = '';
  field.placeholder = 'Search';
  field.setAttribute('aria-label', 'search');
  document.getElementById('MSearchResultsWindow').replaceChildren();
}
