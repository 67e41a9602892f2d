// Runs every example of the documentation on the CPU, in one process, and compares what it prints with its `//=>`
// lines: those of doc comments, of the README and of the guide. `--update` writes the lines of doc comments and of the
// guide instead. Exits with 1 for an example that prints something else, and for a public function without one.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './reference/declarations.mjs';
import { needsExample } from './reference/entries.mjs';
import { allSnippets, runSnippets } from './reference/examples.mjs';
import { withOutput } from './reference/snippets.mjs';

const isUpdate = process.argv.includes('--update');
const { all, snippets } = await allSnippets();

const shown = new Set(snippets.map(({ entry }) => entry?.name));
const missing = all
  .filter((entry) => needsExample(entry) && !shown.has(entry.name))
  .map(
    ({ name, path }) =>
      `${name} of src/${path}.ts has no example: end its doc comment with "@example", lines of code and what they print ` +
      'after //=>, which `npm run examples -- --update` writes',
  );

const { errors, results } = await runSnippets(snippets, all);
const differing = results.filter(({ stretches, printed }) =>
  stretches.some(
    ({ expected }, k) => expected.join('\n').trimEnd() !== (printed[k] ?? []).join('\n').trimEnd(),
  ),
);

/** The snippet with its output, in the place where it is written. */
function update({ snippet, printed }) {
  const { comment, code, path } = snippet;
  const file = join(ROOT, comment === undefined ? path : `src/${comment.path}.ts`);
  const text = readFileSync(file, 'utf8');
  const framed = (lines) =>
    comment === undefined ? lines : lines.replace(/^/gm, `${comment.indent} * `).replace(/ +$/gm, '');
  const before = framed(code);
  if (!text.includes(before)) return errors.push(`${snippet.id}: not found in ${file}`);
  writeFileSync(
    file,
    text.replace(before, () => framed(withOutput(code, printed))),
  );
}

const changed = differing.filter(({ snippet }) => !snippet.isDerived);
if (isUpdate) changed.forEach(update);
else
  for (const { snippet, stretches, printed } of changed)
    stretches.forEach(({ code, expected }, k) => {
      const lines = printed[k] ?? [];
      if (expected.join('\n').trimEnd() !== lines.join('\n').trimEnd())
        errors.push(
          `${snippet.id} prints\n  ${lines.join('\n  ')}\nand says\n  ${expected.join('\n  ')}\nafter\n  ${code}`,
        );
    });
for (const message of [...errors, ...missing]) console.error(message);
console.log(
  `${results.length} examples ran, ${isUpdate ? `${changed.length} updated, ` : ''}${errors.length} errors, ${missing.length} functions without one`,
);
process.exitCode = errors.length + missing.length > 0 ? 1 : 0;
