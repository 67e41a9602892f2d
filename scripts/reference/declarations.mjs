// Declarations of TypeScript's sources with their doc comments, by pattern: TypeScript 7 has no API to ask. Files are
// formatted by one formatter, so indentation tells what a declaration is a member of.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const texts = new Map();
export const sourceOf = (path) => {
  if (!texts.has(path)) texts.set(path, readFileSync(join(ROOT, 'src', `${path}.ts`), 'utf8'));
  return texts.get(path);
};

const COMMENT = String.raw`\/\*\*(?:(?!\*\/)[\s\S])*\*\/`;

/** The text of a doc comment without its frame, the examples in it, and whether it only refers to another. */
export function readComment(comment) {
  const text = comment
    .slice(3, -2)
    .replace(/^[ \t]*\*[ \t]?/gm, '')
    .trim();
  const [prose, ...examples] = text.split(/^@example[ \t]*\n?/m);
  return {
    prose: prose.trim(),
    examples: examples.map((code) => code.trimEnd()),
    refers: /^(The same |Computes (several )?arrays in )/.test(prose),
  };
}

/** Where the body of a top-level declaration is, from its first line to its closing bracket. */
export function bodyOf(path, kind, name) {
  const text = sourceOf(path);
  const start = text.search(new RegExp(`^(export )?(declare |abstract )*${kind} ${name}\\b`, 'm'));
  if (start < 0) return undefined;
  const end = text.indexOf('\n}', start);
  return { start, end: end < 0 ? text.length : end + 2 };
}

const HEAD = '(?:export |declare |abstract |async )*(function|class|const|interface|type) ';
/** Members of classes and interfaces; setters and what begins with # or [ are left out. */
const MEMBER = '(?:static |readonly |async |declare |override |get |\\*)*';

/** The doc comments of a declaration; `within` is the class or table that it is a member of. */
export function commentsOf(path, name, within) {
  const text = sourceOf(path);
  const range = within === undefined ? { start: 0, end: text.length } : within;
  const indent = within === undefined ? '' : '  ';
  const head = within === undefined ? `${HEAD}${name}\\b` : `${MEMBER}${name}\\??(?=[<(:])`;
  const pattern = new RegExp(`^${indent}(${COMMENT})\\n(?:${indent}\\/\\/.*\\n)*${indent}${head}`, 'gm');
  return [...text.matchAll(pattern)]
    .filter(({ index }) => index >= range.start && index < range.end)
    .map(({ index, 1: comment }) => ({
      ...readComment(comment),
      comment,
      path,
      start: index + indent.length,
      indent,
    }));
}

/** The names of the documented members of a class. */
export function membersOf(path, name) {
  const range = bodyOf(path, 'class', name);
  if (range === undefined) return [];
  const body = sourceOf(path).slice(range.start, range.end);
  const found = [
    ...body.matchAll(
      new RegExp(`^ {2}${COMMENT}\\n(?: {2}\\/\\/.*\\n)* {2}${MEMBER}(\\w+)\\??(?=[<(:])`, 'gm'),
    ),
  ];
  return [...new Set(found.map(([, member]) => member))].filter((member) => member !== 'constructor');
}

/** The end of a declaration's head: the bracket that opens its body, `=` of a value, or its semicolon. */
function endOfHead(text, start) {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '=' && text[at + 1] === '>') at++;
    else if (depth === 0 && character === ';') return { at, isOverload: true };
    else if (depth === 0 && character === '=' && text[at - 1] === ' ') return { at, isOverload: false };
    else if (depth === 0 && character === '{' && /[)\w>\]}|] $/.test(text.slice(at - 2, at)))
      return { at, isOverload: false };
    else if ('([{<'.includes(character)) depth++;
    else if (')]}>'.includes(character)) depth--;
  }
  return { at: text.length, isOverload: false };
}

/** The signatures of a function or member as text: its overloads, or its own. */
export function signaturesOf(path, name, within) {
  const text = sourceOf(path);
  const range = within === undefined ? { start: 0, end: text.length } : within;
  const indent = within === undefined ? '' : '  ';
  const head = within === undefined ? `${HEAD}${name}\\b` : `${MEMBER}${name}\\??(?=[<(:])`;
  const found = [...text.matchAll(new RegExp(`^${indent}${head}`, 'gm'))]
    .filter(({ index }) => index >= range.start && index < range.end)
    .map(({ index }) => {
      const { at, isOverload } = endOfHead(text, index);
      const signature = text
        .slice(index, at)
        .replace(/\s+/g, ' ')
        .replace(/,(?= [)>\]])/g, '')
        .trim();
      return { isOverload, signature: signature.replace(/([([<]) /g, '$1').replace(/ ([)\]>])/g, '$1') };
    });
  const overloads = found.filter(({ isOverload }) => isOverload);
  return (overloads.length > 0 ? overloads : found).map(({ signature }) => signature);
}

/** The text of a type: an interface whole, an alias to its end. */
export function typeText(path, name) {
  const text = sourceOf(path);
  const start = text.search(new RegExp(`^export (declare )?(interface|type) ${name}\\b`, 'm'));
  if (start < 0) return undefined;
  const rest = text.slice(start);
  const end = rest.startsWith('export interface') ? /^\}$|\{\}$/m : /;$/m;
  const { index, 0: last } = end.exec(rest);
  return rest.slice(0, index + last.length).replace(/^export (declare )?/, '');
}
