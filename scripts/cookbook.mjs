// The cookbook as pages: `node scripts/cookbook.mjs` writes docs/cookbook.md, a picture and a sentence for each program of
// examples/cookbook.ts; `--pictures` draws the pictures anew before (on the CPU, a minute or two, after `npm run build`).
// The site has a page for each program, with its text (site/build.mjs). test/examples.test.ts fails where
// docs/cookbook.md is older than the programs.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The names of the programs in their order. */
const names = () =>
  [...readFileSync(join(ROOT, 'examples/cookbook.ts'), 'utf8').matchAll(/^ {2}'?([\w-]+)'?: \{ run: /gm)].map(
    ([, name]) => name,
  );

/** Programs: { name, title, text, code, picture }. The header of each is its title, a colon, and sentences. */
export function recipes() {
  return names().map((name) => {
    const source = readFileSync(join(ROOT, `examples/cookbook/${name}.ts`), 'utf8');
    const [comment, header] = /^\/\*\*\n([\s\S]*?)\n \*\/\n/.exec(source);
    const prose = header.replace(/^ \* ?/gm, '').replace(/\n/g, ' ');
    const colon = prose.indexOf(': ');
    if (colon < 0) throw new Error(`${name}: the header has no title with a colon behind it`);
    const picture = ['png', 'svg']
      .map((ending) => `cookbook/${name}.${ending}`)
      .find((file) => existsSync(join(ROOT, 'docs', file)));
    if (picture === undefined)
      throw new Error(`${name} has no picture: node scripts/cookbook.mjs --pictures`);
    const code = source.slice(comment.length).trimStart().replaceAll("'../../src/index.js'", "'weftjs'");
    const text = prose[colon + 2].toUpperCase() + prose.slice(colon + 3);
    return { name, title: prose.slice(0, colon), text, code, picture };
  });
}

/** The page of a program on the site. */
export const pageOf = ({ name, title, text, code, picture }) =>
  `# ${title}\n\n${text}\n\n![${title}](/${picture})\n\n\`\`\`sh\nnode dist/examples/cookbook.js ${name} --out pictures\n\`\`\`\n\n\`\`\`ts\n${code}\`\`\`\n`;

/** The text of docs/cookbook.md. */
export function renderCookbook() {
  const parts = recipes().map(
    ({ name, title, text, picture }) =>
      `## ${title}\n\n${text}\n\n[\`examples/cookbook/${name}.ts\`](../examples/cookbook/${name}.ts)\n\n![${title}](${picture})\n`,
  );
  return `# Cookbook

Programs of a page each. All of them check themselves against something that was not computed by Weft, run in the tests at
a small size, and draw a picture. After \`npm run build\`, \`node dist/examples/cookbook.js\` runs all of them, or those that it
is given by name, with \`--device cpu\` or \`cuda\`, \`--size\` and \`--out\` with a folder for the pictures. Written by
\`scripts/cookbook.mjs\`: do not edit.

${parts.join('\n')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--pictures'))
    execFileSync(
      process.execPath,
      ['dist/examples/cookbook.js', '--device', 'cpu', '--out', 'docs/cookbook'],
      {
        cwd: ROOT,
        stdio: 'inherit',
      },
    );
  writeFileSync(join(ROOT, 'docs/cookbook.md'), renderCookbook());
}
