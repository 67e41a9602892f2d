// The pages of the reference as markdown: a page for each topic, a section for each entry. Written from the
// entries, what their examples print, and what their functions do with each dtype.
import { sourceOf } from './declarations.mjs';
import { mainComment, needsExample } from './entries.mjs';
import { namesIn } from './examples.mjs';
import { dtypesInWords } from './facts.mjs';
import { peersOf, VERSIONS } from './peers.mjs';
import { fieldsOf, isOfFields, optionNames, signatureLines } from './signatures.mjs';
import { withOutput } from './snippets.mjs';
import { pagesOf } from './topics.mjs';

/** The anchor of an entry's section; a class is often named as the function that makes it. */
function anchorOf({ name, kind }) {
  const word = name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return kind === 'class' || kind === 'type' ? `${kind}-${word}` : word;
}

/** Facts that all pages need: where each name is documented, the rows, and what was found by running. */
export class Reference {
  constructor({ all, rows, results, facts }) {
    this.all = all;
    this.rows = rows;
    this.facts = facts;
    this.pages = pagesOf(all);
    this.links = new Map();
    for (const { slug, entries } of this.pages)
      for (const entry of entries)
        for (const each of [entry.name, ...(entry.aliases ?? [])])
          this.links.set(each, `/reference/${slug}#${anchorOf(entry)}`);
    this.examples = new Map();
    for (const { snippet, printed } of results) {
      if (snippet.entry === undefined) continue;
      const { name } = snippet.entry;
      this.examples.set(name, [...(this.examples.get(name) ?? []), withOutput(snippet.code, printed)]);
    }
    this.exported = all
      .filter(({ name }) => !name.includes('.'))
      .flatMap(({ name, aliases = [] }) => [name, ...aliases])
      .filter((name) => name !== 'var');
    this.classes = new Set(all.filter(({ kind }) => kind === 'class').map(({ name }) => name));
    this.types = new Set(all.filter(({ kind }) => kind === 'type').map(({ name }) => name));
  }

  /** The file that declares a type. */
  fileOf(name, path) {
    const found = this.all.find((entry) => entry.name === name && entry.kind === 'type')?.path;
    if (found !== undefined) return found;
    const imported = new RegExp(`\\b${name}\\b[^;]*from '\\./([\\w-]+)\\.js'`).exec(sourceOf(path))?.[1];
    return imported === undefined ? path : [...path.split('/').slice(0, -1), imported].join('/');
  }
}

/**
 * Text of a doc comment as markdown: nothing in it is HTML, stars are stars but around words in bold type, and names of
 * functions are links, but for `own` ones.
 */
function prose(text, reference, own = []) {
  return text
    .split(/(`[^`]*`)/)
    .map((part, k) => {
      if (k % 2 === 0)
        return part
          .replace(/</g, '&lt;')
          .replace(/\{\{/g, '&#123;&#123;')
          .replace(/(?<!\w)\*\*(\w[^*]*)\*\*(?!\w)|\*/g, (stars, bold) =>
            bold === undefined ? '\\*' : stars,
          );
      const link = reference.links.get(part.slice(1, -1));
      const code = part.replace(/\s+/g, ' ');
      return link === undefined || own.includes(part.slice(1, -1)) ? code : `[${code}](${link})`;
    })
    .join('');
}

const cell = (text) => text.replaceAll('|', '\\|');

/** The type of a field; an alias that is no export of its own by what it stands for. */
function fieldType(type, path, reference) {
  if (!/^\w+$/.test(type) || reference.types.has(type)) return type;
  const alias = new RegExp(`^(?:export )?type ${type} =([^;]*);`, 'm');
  const found = alias.exec(sourceOf(path)) ?? alias.exec(sourceOf(reference.fileOf(type, path)));
  return found === null ? type : found[1].replace(/\s+/g, ' ').trim().replace(/^\| /, '');
}

/** Fields as a table: what each is called, its type, and what it says. */
function fieldsTable(fields, file, reference) {
  const rows = fields.map(({ name, isOptional, type, text }) => {
    const cells = [`\`${name}${isOptional ? '?' : ''}\``, `\`${cell(fieldType(type, file, reference))}\``];
    return `| ${cells.join(' | ')} | ${cell(prose(text, reference))} |`;
  });
  return `| | type | |\n|---|---|---|\n${rows.join('\n')}`;
}

function optionsTables(entry, lines, reference) {
  const names = optionNames(lines);
  // Those of compute are many, and have a section among the types.
  const linked = names.filter((name) => name.startsWith('Compute'));
  const links = linked.map((name) => `[\`${name}\`](${reference.links.get(name)})`);
  const find = (parent, path) => reference.fileOf(parent, path);
  const tables = names
    .filter((name) => !linked.includes(name))
    .map((name) => ({ file: find(name, entry.path), name }))
    .map(({ file, name }) => ({ file, fields: fieldsOf(file, name, find) }))
    .filter(({ fields }) => fields.length > 0)
    .map(({ file, fields }) => `**Options**\n\n${fieldsTable(fields, file, reference)}`);
  return [...(links.length > 0 ? [`**Options** ${links.join(', ')}`] : []), ...tables];
}

/** The content of a type: its fields, or its text. */
function typeBlock({ kind, name, path, text }, reference) {
  if (kind !== 'type' || text === undefined) return undefined;
  if (!isOfFields(text)) return `\`\`\`ts\n${text}\n\`\`\``;
  const find = (parent, from) => reference.fileOf(parent, from);
  return fieldsTable(fieldsOf(path, name, find), path, reference);
}

/** An example with the import that it needs. */
function exampleBlock(code, reference) {
  const names = namesIn(code, reference.exported);
  const isType = (name) =>
    reference.types.has(name) ||
    (reference.classes.has(name) && !new RegExp(`(new|instanceof) ${name}\\b|\\b${name}\\.`).test(code));
  const imports = names.map((name) => (isType(name) ? `type ${name}` : name)).sort();
  const head = names.length === 0 ? '' : `import { ${imports.join(', ')} } from 'weftjs';\n\n`;
  return `\`\`\`ts\n${head}${code}\n\`\`\``;
}

function peersLine(entry, reference) {
  const { python, cupy } = peersOf(entry, reference.rows[entry.name]);
  if (python === undefined) return undefined;
  const package_ = python.startsWith('numpy') ? 'NumPy' : 'SciPy';
  return `**${package_}** \`${python}\`${cupy === undefined ? '' : ` · **CuPy** \`${cupy}\``}`;
}

function factLines(entry, reference) {
  const { dtypes, isSecond, errors = [], shapes } = reference.facts.get(entry.name) ?? {};
  const lines = [];
  if (dtypes !== undefined) {
    const of = isSecond ? ' of the values' : '';
    lines.push(`**Dtypes**${of} ${dtypesInWords(dtypes).join(' · ')}`);
  }
  const { arity } = entry.table === 'OPS' ? reference.rows[entry.name] : {};
  if (arity !== undefined)
    lines.push(`**Shape** ${arity === 1 ? 'that of the array' : 'arguments broadcast'}`);
  else if (shapes !== undefined) lines.push(`**Shapes** in the example ${shapes}`);
  if (errors.length > 0)
    lines.push(
      `**Errors**, such as\n\n${errors.map((message) => `- \`${message.replaceAll('`', "'")}\``).join('\n')}`,
    );
  return lines;
}

function section(entry, reference) {
  const { name, kind, aliases = [], comments } = entry;
  const main = mainComment(entry);
  const others = comments.filter((comment) => comment !== main && comment.prose !== '');
  const lines = kind === 'type' ? [] : signatureLines(entry, reference.rows[name]);
  const own = [
    name,
    ...lines.flatMap((line) => [...line.matchAll(/(\w+)\??:/g)].map(([, parameter]) => parameter)),
  ];
  const text = [main, ...others].map((comment) => prose(comment.prose, reference, own));
  const examples = (reference.examples.get(name) ?? []).map((code) => exampleBlock(code, reference));
  return [
    `## ${[name, ...aliases].join(', ')} {#${anchorOf(entry)}}`,
    text[0],
    lines.length > 0 ? `\`\`\`ts\n${lines.join('\n')}\n\`\`\`` : undefined,
    typeBlock(entry, reference),
    ...text.slice(1),
    ...optionsTables(entry, lines, reference),
    examples.length > 0 ? `**Example**\n\n${examples.join('\n\n')}` : undefined,
    ...factLines(entry, reference),
    peersLine(entry, reference),
  ]
    .filter((part) => part !== undefined && part !== '')
    .join('\n\n');
}

/** The first page of the reference: the topics, and what holds for every function. */
function overview(reference) {
  const topics = reference.pages.map(({ title, slug, entries }) => {
    const names = entries
      .filter(needsExample)
      .map((entry) => `[${entry.name}](${reference.links.get(entry.name)})`);
    return `## [${title}](/reference/${slug})\n\n${names.join(' · ')}`;
  });
  return `# Reference

Every public function, with what its example prints. Functions of arrays are methods and free functions: \`exp(x)\` is \`x.exp()\`.

- **Arguments** that are arrays (\`ArrayLike\`) may be a \`Lazy\`, a number, a typed array, or anything else that [\`lazy\`](${reference.links.get('lazy')}) takes.
- **Dtypes** of a result follow from those of the arguments, as in NumPy 2; a JavaScript number gives way to the array beside it. Arrays of two dtypes meet in the dtype that [\`resultType\`](${reference.links.get('resultType')}) says.
- **Errors** are thrown where you write the expression: of shapes, dtypes and arguments. Options that a function does not know, and arguments that no parameter takes, are an \`ArgumentError\`.
- **Examples** give the value of an expression behind \`//=>\`, as \`console.log\` prints it.

${topics.join('\n\n')}
`;
}

/** Names of NumPy, SciPy and CuPy beside ours. */
function peerTable(reference) {
  const rows = reference.all
    .filter(({ kind, name }) => kind !== 'type' && reference.links.has(name))
    .map((entry) => ({ entry, ...peersOf(entry, reference.rows[entry.name]) }))
    .filter(({ python }) => python !== undefined)
    .sort((a, b) => (a.python < b.python ? -1 : 1))
    .map(
      ({ entry, python, cupy }) =>
        `| \`${python}\` | [\`${entry.name}\`](${reference.links.get(entry.name)}) | ${cupy === undefined ? '' : `\`${cupy}\``} |`,
    );
  return `---
pageClass: names
---

# Names in NumPy, SciPy and CuPy

${rows.length} functions of NumPy ${VERSIONS.numpy} and SciPy ${VERSIONS.scipy} with their names here, and in CuPy ${VERSIONS.cupy} where it has them. [From NumPy and CuPy](/guide/from-numpy) says what differs.

| NumPy, SciPy | Weft | CuPy |
|---|---|---|
${rows.join('\n')}
`;
}

/** All pages: [{ path, text }]. */
export function referencePages(reference) {
  const topics = reference.pages.map(({ title, slug, entries }) => ({
    path: `reference/${slug}.md`,
    text: `---\noutline: [2, 2]\n---\n\n# ${title} {#page}\n\n${entries.map((entry) => section(entry, reference)).join('\n\n')}\n`,
  }));
  return [
    { path: 'reference/index.md', text: overview(reference) },
    { path: 'reference/names.md', text: peerTable(reference) },
    ...topics,
  ];
}
