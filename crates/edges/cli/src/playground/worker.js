"use strict";
// The engines. The page sends the module once, and then questions, of which each is answered before the next is heard.
const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
let [module, failure] = [null, ""];

const text = (at, size) => decoder.decode(new Uint8Array(module.memory.buffer, at, size));
const told = size => JSON.parse(text(module.told(), size));
const imports = { page: { now: () => performance.now(), failed: (at, size) => { failure = text(at, size); } } };

async function start(engine) {
  module = (await WebAssembly.instantiate(engine, imports)).exports;
  module.start();
  postMessage({ examples: told(module.examples()), levels: told(module.levels()) });
}

function answer(question) {
  try {
    const bytes = encoder.encode(question);
    // The memory may grow, so its buffer is asked for afterwards.
    const at = module.room(bytes.length);
    new Uint8Array(module.memory.buffer, at, bytes.length).set(bytes);
    return told(module.ask());
  } catch (error) {
    const isTooDeep = error instanceof RangeError;
    const why = isTooDeep
      ? "This is too deep for a browser. The command line has more room."
      : `This is a bug in isoscope, not a verdict; please report it. ${failure || error}`;
    return { error: why, places: [], failed: true };
  }
}

let isStarted;
const started = new Promise(done => { isStarted = done; });
onmessage = async ({ data }) => {
  if (data.engine) {
    await start(data.engine);
    isStarted();
  } else {
    await started;
    postMessage({ answer: answer(data.question) });
  }
};
