// Pieces of code that the documentation shows, and what they print. A snippet is lines of code, each followed by
// `//=>` lines where it prints something: what `console.log` writes, or the value of the expression before.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './declarations.mjs';

const OUTPUT = /^\/\/=> ?/;

/** Stretches of code with the output after each: [{ code, expected }]. */
export function stretchesOf(code) {
  const stretches = [];
  let isOutput = true;
  for (const line of code.split('\n')) {
    const prints = OUTPUT.test(line);
    if (!prints && isOutput) stretches.push({ lines: [], expected: [] });
    if (prints) stretches.at(-1)?.expected.push(line.replace(OUTPUT, ''));
    else stretches.at(-1).lines.push(line);
    isOutput = prints;
  }
  return stretches
    .map(({ lines, expected }) => ({ code: lines.join('\n'), expected }))
    .filter(({ code: own, expected }) => own.trim() !== '' || expected.length > 0);
}

/** A snippet with the output that it printed in the place of what it has. */
export const withOutput = (code, printed) =>
  stretchesOf(code)
    .map(({ code: own }, k) =>
      [own.replace(/\n+$/, ''), ...(printed[k] ?? []).map((line) => `//=> ${line}`.trimEnd())].join('\n'),
    )
    .join('\n');

const STATEMENT =
  /^(const|let|var|using|await using|for|while|if|try|function|async function|import|class|console\.|\/\/)\b|^console\.|^await using |^\/\//;

/** Splits code before its last statement, where that is an expression whose value is shown. */
function lastExpression(code) {
  const lines = code.replace(/\s+$/, '').split('\n');
  let at = lines.length - 1;
  while (at > 0 && /^[\s})\]]/.test(lines[at])) at--;
  const last = lines.slice(at).join('\n');
  if (STATEMENT.test(last) || /^[\w.[\]]+ [-+*]?= /.test(last)) return [code, undefined];
  return [lines.slice(0, at).join('\n'), last.replace(/;$/, '')];
}

/** Names of other modules that a snippet imports: `import { tmpdir } from 'node:os'`. */
const IMPORT = /^import (?:\* as (\w+)|\{([^}]*)\}) from '([^']+)';?$/gm;

/** The body of an async function that runs a snippet; what it prints goes to `out`. */
export function bodyOfSnippet(code) {
  const bare = code.replace(IMPORT, (_, all, names, from) => {
    if (from === 'weftjs') return '';
    return all === undefined
      ? `const {${names}} = await import('${from}');`
      : `const ${all} = await import('${from}');`;
  });
  return stretchesOf(bare)
    .map(({ code: own, expected }) => {
      const [before, shown] = expected.length > 0 ? lastExpression(own) : [own, undefined];
      return `${before}\n${shown === undefined ? '' : `await out.show(async () => (${shown}));`}\nout.end();`;
    })
    .join('\n');
}

/** The code blocks of a markdown page in a language. */
export function blocksOf(path, language) {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1]);
}

/** Pages that teach, whose `ts` blocks run: the README and the guide. */
export const pages = () => [
  'README.md',
  ...readdirSync(join(ROOT, 'docs/guide'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/guide/${name}`),
];

export const snippetsOfPages = () =>
  pages().flatMap((path) =>
    blocksOf(path, 'ts').map((code, k) => ({ id: `${path}, block ${k + 1}`, path, code: code.trimEnd() })),
  );
