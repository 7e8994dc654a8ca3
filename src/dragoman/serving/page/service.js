// What the page asks of its service. The API key, where one is needed, is kept until the tab is closed.
const KEY = "dragoman-key";
export const setKey = (key) => sessionStorage.setItem(KEY, key);
export const wantsKey = (error) => ["missing_key", "wrong_key"].includes(error?.code);

const GONE = "gone"; // the code of a service that does not answer, or not to the end
export const complaint = (error, words) => (error.code === GONE ? words.gone : error.message);
const refused = ({ message, code } = { code: GONE }) => Object.assign(new Error(message), { code });
const gone = () => { throw refused(); };

async function answerOf(path, options) {
  const answer = await fetch(path, options).catch(gone);
  if (answer.ok) return answer;
  throw refused((await answer.json().catch(gone)).error);
}
const read = async (path, options) => (await answerOf(path, options)).json().catch(gone);
export const post = (path, content, signal) => read(path, asked(content, signal));
export const get = (path) => read(path, { headers: keyed() });

export async function download(path, content, name) {
  const answer = await answerOf(path, asked(content));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob().catch(gone));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// Translate one text, and tell what it has come to as it grows; a signal that aborts cancels the search too.
export async function stream(content, signal, tell) {
  let text = "";
  for await (const [kind, found] of events("/v1/translate", { ...content, stream: true }, signal)) {
    if (kind !== "done") { text = found.text; tell(text); }
  }
  return text;
}

// Translate a document, tell how far it is, and return its name and address.
export async function translateDocument(file, fields, { signal, tell }) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
  form.append("file", file);
  let done = null;
  for await (const [kind, found] of events("/v1/documents", form, signal)) {
    if (kind === "progress") tell(found);
    else done = found;
  }
  return done;
}

// Yield events until "done"; an answer that ends before is not whole.
async function* events(path, content, signal) {
  const answer = await answerOf(path, asked(content, signal));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(gone);
    if (done) gone();
    const whole = (rest + value).split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      const [, kind, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event);
      const found = JSON.parse(data);
      if (kind === "error") throw refused(found.error);
      yield [kind, found];
      if (kind === "done") return;
    }
  }
}

function asked(content, signal) {
  const form = content instanceof FormData;
  const headers = { ...(form ? {} : { "Content-Type": "application/json" }), ...keyed() };
  return { method: "POST", headers, body: form ? content : JSON.stringify(content), signal };
}

function keyed() {
  const key = sessionStorage.getItem(KEY);
  return key ? { Authorization: `Bearer ${key}` } : {};
}
