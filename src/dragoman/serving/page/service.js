// What the page asks of its service.
export async function post(path, content, signal) {
  const answer = await fetch(path, asked(content, signal));
  const result = await answer.json();
  if (!answer.ok) throw new Error(result.error?.message ?? answer.statusText);
  return result;
}

export async function download(path, content, name) {
  const answer = await fetch(path, asked(content));
  if (!answer.ok) throw new Error((await answer.json()).error?.message ?? answer.statusText);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// Translate one text, and tell what it has come to as it grows; a signal that aborts cancels the search too.
export async function stream(content, signal, tell) {
  const answer = await fetch("/v1/translate", asked({ ...content, stream: true }, signal));
  if (!answer.ok) throw new Error((await answer.json()).error?.message ?? answer.statusText);
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

const asked = (content, signal) => ({
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
});
