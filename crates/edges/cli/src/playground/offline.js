"use strict";
// Answers without a server: a worker has the engines in WebAssembly, so that typing never waits for them.
(() => {
  // The engines stop by themselves before. A worker that does not is ended.
  const LONGEST = 20000;
  const inPage = id => document.getElementById(id).textContent;
  const source = URL.createObjectURL(new Blob([inPage("worker")], { type: "text/javascript" }));
  const engine = unpacked(inPage("engine"));
  let worker = null;
  let waiting = null;

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.trim()), it => it.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  }

  // What a new worker says first: the examples and the levels.
  function started() {
    worker = new Worker(source);
    const mine = worker;
    const first = new Promise((done, fail) => {
      mine.onmessage = ({ data }) => (data.answer ? answered(mine, data.answer) : done(data));
      mine.onerror = event => fail(new Error(event.message));
    });
    engine.then(it => mine.postMessage({ engine: it }), () => {});
    return first;
  }

  function answered(by, answer) {
    if (by !== worker || !waiting) return;
    // After a failure nobody knows what is in its memory.
    if (answer.failed) end();
    reply(answer);
  }

  function reply(answer) {
    const { done, timer } = waiting;
    waiting = null;
    clearTimeout(timer);
    done(answer);
  }

  function end() {
    worker.terminate();
    worker = null;
  }

  const first = started();
  window.isoscope = {
    get: async name => { await engine; return (await first)[name]; },
    // Only the last question matters: whoever asks anew does not wait for the one before.
    ask: async question => {
      await engine;
      if (waiting) { end(); reply({ error: "", places: [] }); }
      if (!worker) started();
      return new Promise(done => {
        const late = { error: "This takes too long for a browser. The command line has no such limit.", places: [] };
        waiting = { done, timer: setTimeout(() => { end(); reply(late); }, LONGEST) };
        worker.postMessage({ question: JSON.stringify(question) });
      });
    },
  };
})();
