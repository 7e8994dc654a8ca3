// What the page asks of its service. The API key, where one is needed, is kept until the tab is closed.
const KEY = "dragoman-key";
export const setKey = (key) => sessionStorage.setItem(KEY, key);
export const wantsKey = (error) => ["missing_key", "wrong_key"].includes(error?.code);

async function refusal(answer) {
  const { message, code } = (await answer.json()).error ?? {};
  return Object.assign(new Error(message ?? answer.statusText), { code });
}

export async function post(path, content, signal) {
  const answer = await fetch(path, asked(content, signal));
  if (!answer.ok) throw await refusal(answer);
  return answer.json();
}

export async function get(path) {
  const answer = await fetch(path, { headers: keyed() });
  if (!answer.ok) throw await refusal(answer);
  return answer.json();
}

export async function download(path, content, name) {
  const answer = await fetch(path, asked(content));
  if (!answer.ok) throw await refusal(answer);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
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

async function* events(path, content, signal) {
  const answer = await fetch(path, asked(content, signal));
  if (!answer.ok) throw await refusal(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      const [, kind, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event);
      const found = JSON.parse(data);
      if (kind === "error") throw new Error(found.error.message);
      yield [kind, found];
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
