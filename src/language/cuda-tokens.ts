/** The tokens of CUDA C: as much as tells names, brackets and assignments apart. */

export interface CudaToken {
  readonly kind: 'name' | 'number' | 'text' | 'directive' | 'sign';
  readonly text: string;
  /** Where it begins. */
  readonly start: number;
}

const SPACE = String.raw`\s+|//[^\n]*|/\*[\s\S]*?\*/`;
const KINDS: readonly (readonly [CudaToken['kind'] | 'space', string])[] = [
  ['space', SPACE],
  ['directive', String.raw`#(?:[^\n\\]|\\[\s\S])*`],
  ['name', String.raw`[A-Za-z_]\w*`],
  ['number', String.raw`\.?\d(?:[eEpP][+-]|[\w.])*`],
  ['text', String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`],
  ['sign', String.raw`<<=|>>=|\+\+|--|->|::|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|[\s\S]`],
];
const TOKEN = new RegExp(KINDS.map(([, pattern]) => `(${pattern})`).join('|'), 'y');

/** The tokens of a text, without spaces and comments. */
export function cudaTokens(text: string): CudaToken[] {
  const tokens: CudaToken[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex;
    const found = TOKEN.exec(text)!;
    const [kind] = KINDS[found.slice(1).findIndex((each) => each !== undefined)]!;
    if (kind !== 'space') tokens.push({ kind, text: found[0], start });
  }
  return tokens;
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** A bracket that has no other, or a comment or string that does not end; undefined: there is none. */
export function looseEnd(text: string, tokens: readonly CudaToken[]): CudaToken | undefined {
  const open: CudaToken[] = [];
  for (const token of tokens) {
    if (token.kind !== 'sign') continue;
    if (token.text === '"' || token.text === "'") return token;
    if (token.text === '/' && text[token.start + 1] === '*') return token;
    if (token.text in CLOSING) open.push(token);
    else if (Object.values(CLOSING).includes(token.text)) {
      const opened = open.pop();
      if (opened === undefined || CLOSING[opened.text] !== token.text) return token;
    }
  }
  return open[0];
}

const ASSIGNS = /^([-+*/%&|^]|<<|>>)?=$|^(\+\+|--)$/;

/** Whether a text may assign a variable: by an operator, by its address, as an argument, or to a part of it. */
export function mayAssign(tokens: readonly CudaToken[], name: string): boolean {
  return tokens.some((token, k) => {
    if (token.kind !== 'name' || token.text !== name) return false;
    const [before, after] = [tokens[k - 1]?.text ?? '', tokens[k + 1]?.text ?? ''];
    if (ASSIGNS.test(after) || ['.', '['].includes(after)) return true;
    if (['&', '++', '--'].includes(before)) return true;
    return ['(', ','].includes(before) && [')', ','].includes(after) && isArgument(tokens, k);
  });
}

/** Whether a token stands in the brackets of a call. */
function isArgument(tokens: readonly CudaToken[], at: number): boolean {
  let depth = 0;
  for (let k = at - 1; k > 0; k--) {
    const { text } = tokens[k]!;
    if (text === ')') depth++;
    else if (text === '(' && depth-- === 0) return /^\w+$|^>$/.test(tokens[k - 1]!.text);
  }
  return false;
}

/** Operations of a text, in additions; a loop counts as some steps. */
export function costOf(tokens: readonly CudaToken[]): number {
  const cost = tokens.filter((token, k) =>
    token.kind === 'sign'
      ? /^[-+*/%<>&|^?]/.test(token.text)
      : token.kind === 'name' && tokens[k + 1]?.text === '(',
  ).length;
  return 1 + cost * (hasLoop(tokens) ? STEPS : 1);
}
const STEPS = 16;

export const hasLoop = (tokens: readonly CudaToken[]): boolean =>
  tokens.some(({ kind, text }) => kind === 'name' && ['for', 'while', 'do', 'goto'].includes(text));

/** Names that no variable may have: keywords of C++, and those that CUDA gives a meaning. */
export const RESERVED: ReadonlySet<string> = new Set(
  `alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const
  const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false
  float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
  protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
  template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
  while xor xor_eq threadIdx blockIdx blockDim gridDim warpSize`.split(/\s+/),
);
