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
  const answer = await fetch("/v1/translate", asked({ ...content, stream: true }, signal));
  if (!answer.ok) throw await refusal(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, text] = ["", ""];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const [, kind, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event);
      const found = JSON.parse(data);
      if (kind === "error") throw new Error(found.error.message);
      if (kind !== "done") { text = found.text; tell(text); }
    }
  }
}

function asked(content, signal) {
  const key = sessionStorage.getItem(KEY);
  const headers = { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  return { method: "POST", headers, body: JSON.stringify(content), signal };
}
