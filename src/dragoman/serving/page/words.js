// What the page says, in English and Vietnamese.
const ALARMS = {
  en: {
    repetition: "The translation repeats itself.", "too short": "The translation is unusually short.",
    "too long": "The translation is unusually long.", copied: "Most of the translation is copied from the sentence.",
    "number lost": "A number is missing from the translation:", "name lost": "A name may be missing from the translation:",
    omission: "Nothing in the translation seems to stand for:",
    detached: "The translation does not seem to come from this sentence.",
  },
  vi: {
    repetition: "Bản dịch lặp lại chính nó.", "too short": "Bản dịch ngắn bất thường.",
    "too long": "Bản dịch dài bất thường.", copied: "Phần lớn bản dịch chép nguyên từ câu nguồn.",
    "number lost": "Bản dịch thiếu con số:", "name lost": "Có thể bản dịch thiếu tên riêng:",
    omission: "Dường như bản dịch bỏ sót:", detached: "Bản dịch dường như không bắt nguồn từ câu này.",
  },
};
const inWords = (sentences) => ({ name, words }) =>
  `${sentences[name] ?? name} ${words.join(name === "omission" ? " " : ", ")}`.trim();

export const WORDS = {
  en: {
    lead: "Type a sentence, and watch the translator attend.", model: "Model", language: "Language", source: "Sentence",
    target: "Into", beside: "Beside it", alone: "none", changes: "Models and changes", save: "Save", key: "API key", useKey: "Use it", weight: "Weight",
    translation: "Translation", layer: "Layer", head: "Head", beam: "Beam", temperature: "Temperature", off: "Head off",
    reset: "As it was", mean: "mean", attention: "Where it looked", tree: "Beam tree",
    attentionHint: "Point at a word of the translation, or press a cell of the table to make the step look there.",
    attentionOnlyHint: "Point at a word of the translation.",
    alternatives: "This word", alternativesHint: "Press an alternative to go on from there.", whyNot: "Why not", ask: "Ask",
    force: "Force attention to", computed: "How attention computed this",
    treeHint: "Each step of the search, with scores. The green path won; words struck through were pruned.",
    treeLabel: (count, text) => `${count} hypotheses were weighed; the best is: ${text}`,
    linksLabel: "Links between the words; the table has their weights.", heatLabel: "Weights of attention",
    document: "Or a document", progress: (done, total) => `${done} of ${total} texts`, ready: "Translated:",
    none: "This model has no attention over the source.", facts: (score, ms) => `score ${score} · ${ms} ms`,
    confidence: (share) => `confidence ${share}`, calibrated: "Probability that a word is right:",
    uncalibrated: "The model's own probability, not calibrated:", alarm: inWords(ALARMS.en),
    because: (word, rank, share, better, theirs) => `“${word}” has rank ${rank} with ${share}; “${better}” has ${theirs}.`,
    paths: (forced, own, best) => `With it: “${forced}”, score ${own}; the chosen one has ${best}.`,
    fates: { followed: "The beam followed it.", pruned: "The beam pruned it.", ended: "It ended there.", unseen: "The beam never weighed it." },
    columns: ["key", "score", "weight", "used"], score: "score", where: "s is the query, h a key", query: "query", context: "context = Σ weight · value",
  },
  vi: {
    lead: "Gõ một câu và xem mô hình dịch chú ý vào đâu.", model: "Mô hình", language: "Ngôn ngữ", source: "Câu nguồn",
    target: "Dịch sang", beside: "So với", alone: "không", changes: "Mô hình và thay đổi", save: "Lưu", key: "Khóa API", useKey: "Dùng khóa này", weight: "Trọng số",
    translation: "Bản dịch", layer: "Tầng", head: "Đầu", beam: "Chùm", temperature: "Nhiệt độ", off: "Tắt đầu này",
    reset: "Như ban đầu", mean: "trung bình", attention: "Mô hình đã nhìn vào đâu", tree: "Cây tìm kiếm chùm",
    attentionHint: "Trỏ vào một từ của bản dịch, hoặc bấm một ô trong bảng để buộc bước đó nhìn vào đó.",
    attentionOnlyHint: "Trỏ vào một từ của bản dịch.",
    alternatives: "Từ này", alternativesHint: "Bấm một từ thay thế để dịch tiếp từ đó.", whyNot: "Sao không là", ask: "Hỏi",
    force: "Buộc chú ý vào", computed: "Sự chú ý được tính thế nào",
    treeHint: "Từng bước tìm kiếm, kèm điểm. Đường xanh thắng; từ bị gạch đã bị loại.",
    treeLabel: (count, text) => `Đã xét ${count} giả thuyết; tốt nhất là: ${text}`,
    linksLabel: "Liên kết giữa các từ; bảng bên dưới ghi trọng số.", heatLabel: "Trọng số chú ý",
    document: "Hoặc một tài liệu", progress: (done, total) => `${done} trên ${total} đoạn`, ready: "Đã dịch xong:",
    none: "Mô hình này không có cơ chế chú ý vào câu nguồn.", facts: (score, ms) => `điểm ${score} · ${ms} ms`,
    confidence: (share) => `độ tin cậy ${share}`, calibrated: "Xác suất từ này đúng:",
    uncalibrated: "Xác suất của chính mô hình, chưa hiệu chỉnh:", alarm: inWords(ALARMS.vi),
    because: (word, rank, share, better, theirs) => `“${word}” đứng hạng ${rank} với ${share}; “${better}” có ${theirs}.`,
    paths: (forced, own, best) => `Nếu có từ đó: “${forced}”, điểm ${own}; bản được chọn có ${best}.`,
    fates: { followed: "Chùm đã đi theo từ này.", pruned: "Chùm đã loại từ này.", ended: "Câu kết thúc ở đó.", unseen: "Chùm chưa từng xét đến." },
    columns: ["khóa", "điểm", "trọng số", "đã dùng"], score: "điểm", where: "s là truy vấn, h là khóa", query: "truy vấn", context: "ngữ cảnh = Σ trọng số · giá trị",
  },
};
