/**
 * How many arguments a function of the user's takes. `length` counts parameters up to the first one that has
 * a default; its text says whether there are more. Called by `compile-signatures.ts`, which refuses arguments
 * that no parameter takes.
 */

const COMMENTS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;

/**
 * The most arguments that a function takes; undefined where that is not certain: a rest, `arguments`, no
 * text.
 */
export function mostArguments(fn: CallableFunction): number | undefined {
  const text = Function.prototype.toString.call(fn);
  if (/\barguments\b|\[native code\]/.test(text)) return undefined;
  const bare = text.replace(COMMENTS, '');
  if (/^(async\s+)?[^\s(=,]+\s*=>/.test(bare)) return fn.length; // x => …
  const count = countParameters(bare.slice(bare.indexOf('(') + 1));
  return count === undefined || count < fn.length ? undefined : count;
}

/**
 * Parameters up to the bracket that closes their list. Regular expressions and templates among them are not
 * read.
 */
function countParameters(text: string): number | undefined {
  const token = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\.\.\.|[()[\]{},`/]|[^\s]/g;
  let depth = 0;
  let count = 0;
  let isOpen = false; // whether something stands after the last comma
  for (const [part] of text.matchAll(token)) {
    if (part === '`' || part === '/' || (part === '...' && depth === 0)) return undefined;
    if (part === ')' && depth === 0) return isOpen ? count + 1 : count;
    if ('([{'.includes(part)) depth++;
    else if (')]}'.includes(part)) depth--;
    const isComma = part === ',' && depth === 0;
    if (isComma) count++;
    isOpen = !isComma;
  }
  return undefined;
}
