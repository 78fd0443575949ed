/** Vendors' phrases for a request beyond the context window, checked against live answers and issue trackers. */
const phrases: readonly RegExp[] = [
  // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral
  /maximum context length/i,
  /context[ _]length[ _]exceeded/i,
  /exceeds? the context window/i,
  // Anthropic
  /prompt is too long/i,
  /exceeds? context limit/i,
  // Gemini, SGLang, Volcengine
  /input (token count|length)[^.]{0,40} exceeds the maximum/i,
  // Vertex AI
  /input token count[^.]{0,40} but model only supports/i,
  // Qwen
  /range of input length should be/i,
  // xAI
  /maximum prompt length/i,
  // Groq
  /reduce the length of the (messages|prompt|input)/i,
  // llama.cpp, Ollama, LM Studio
  /exceeds? the available context size/i,
  /prompt too long; exceeded/i,
  /greater than the context length/i,
  // vLLM, SGLang
  /longer than the (maximum model length|model's context length)/i,
  // Bedrock
  /input is too long for (the )?requested model/i,
  // Cohere
  /too many tokens: /i,
  // Text Generation Inference, Together
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i,
  // Copilot
  /prompt token count[^.]{0,40} exceeds the limit/i,
  // Moonshot
  /exceeded model token limit/i,
  // MiniMax, Workers AI
  /context window (exceeds limit|limit)/i,
  // Z.ai
  /prompt exceeds max length/i,
];

/**
 * Returns whether vendors report an overflow with a status; with others the same words mean a rate limit or a
 * missing right.
 */
const isPossibleStatus = (status: number | undefined): boolean =>
  status === undefined || status === 400 || status === 413 || status === 422 || status >= 500;

/** Returns whether an error body reports that the request exceeds the context window. */
export const isOverflow = (text: string, status: number | undefined): boolean =>
  isPossibleStatus(status) && phrases.some((phrase) => phrase.test(text));
