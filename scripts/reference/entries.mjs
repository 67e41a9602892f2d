// Everything that Weft exports, an entry each with its doc comments: { name, kind, path, comments, … }. Kinds are
// `method` (of a Lazy, and a free function), `function`, `class`, `member` (of a class, or of an object such as
// `random`), `constant` and `type`. Reads the source text, so that a new export is an entry without further work.
import { functions, modules, rows } from '../make-functions.mjs';
import {
  bodyOf,
  commentsOf,
  membersOf,
  readComment,
  signaturesOf,
  sourceOf,
  typeText,
} from './declarations.mjs';

/** Exports of `src/index.ts` by name. */
function exportsOfIndex() {
  const lists = [...sourceOf('index').matchAll(/^export (type )?\{([^}]*)\} from '\.\/([^']+)\.js';/gm)];
  return lists.flatMap(([, allTypes, names, path]) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => ({
        name: name.replace('type ', ''),
        isType: Boolean(allTypes) || name.startsWith('type '),
        path,
      })),
  );
}

/** The section of a table, such as `// arithmetic`, that a row is in. */
function sectionOf(path, at) {
  const sections = [
    ...sourceOf(path)
      .slice(0, at)
      .matchAll(/^ {2}\/\/ (.+)$/gm),
  ];
  return sections.at(-1)?.[1];
}

/** Rows of a table of ops or reductions, aliases as further names of their row. */
function tableEntries(path, table) {
  const within = bodyOf(path, 'const', table);
  const all = rows(sourceOf(path), table);
  return all
    .filter(({ name, row }) => name === row)
    .map(({ name }) => {
      const comments = commentsOf(path, name, within);
      return {
        name,
        kind: 'method',
        path,
        table,
        section: table === 'OPS' ? sectionOf(path, comments[0].start) : undefined,
        aliases: all.filter((other) => other.row === name && other.name !== name).map((other) => other.name),
        comments,
      };
    });
}

/** Functions of modules whose every export is a method. */
const moduleEntries = (path) =>
  functions(sourceOf(path)).map(({ name }) => ({
    name,
    kind: 'method',
    path,
    aliases: name === 'variance' ? ['var'] : [],
    comments: commentsOf(path, name),
    signatures: signaturesOf(path, name),
  }));

/** The file beside another from which that one imports a function; undefined: it declares it itself. */
function importedFrom(path, name) {
  const imports = [...sourceOf(path).matchAll(/^import \{([^}]*)\} from '\.\/([^']+)\.js';/gm)];
  const found = imports.find(([, names]) => names.split(',').some((each) => each.trim() === name));
  return found && path.replace(/[^/]*$/, found[2]);
}

/** The functions that an exported object holds by name: `random.uniform`. */
function objectMembers({ name, path }) {
  const body = new RegExp(`^export const ${name} = \\{\\n([\\s\\S]*?)\\n\\} as const;`, 'm').exec(
    sourceOf(path),
  )?.[1];
  const members = [...(body?.matchAll(/(\w+)(?:: (\w+))?,/g) ?? [])];
  return members.map(([, member, declared = member]) => {
    const own = importedFrom(path, declared) ?? path;
    return {
      name: `${name}.${member}`,
      kind: 'member',
      owner: name,
      path: own,
      comments: commentsOf(own, declared),
      signatures: signaturesOf(own, declared),
    };
  });
}

/** The documented methods and properties of an exported class, after those of the classes beside it that it extends. */
function classMembers({ name, path, owner = name }) {
  const within = bodyOf(path, 'class', name);
  const parent = new RegExp(`^export (?:abstract )?class ${name} extends (\\w+) `, 'm').exec(
    sourceOf(path),
  )?.[1];
  const file = parent && importedFrom(path, parent);
  const inherited = file === undefined ? [] : classMembers({ name: parent, path: file, owner });
  const own = membersOf(path, name).map((member) => ({
    name: `${owner}.${member}`,
    kind: 'member',
    owner,
    path,
    comments: commentsOf(path, member, within),
    // Where functions are a group that the class extends, their own type is that of the class.
    signatures: signaturesOf(path, member, within).map((text) => text.replace(/\bthis\b/g, owner)),
  }));
  return [...inherited, ...own];
}

function exportEntries(exported) {
  const { name, isType, path } = exported;
  const comments = commentsOf(path, name);
  if (isType) return [{ name, kind: 'type', path, comments, text: typeText(path, name) }];
  const declares = (kind) => new RegExp(`^(export )?(async )?${kind} ${name}\\b`, 'm').test(sourceOf(path));
  if (declares('function'))
    return [{ name, kind: 'function', path, comments, signatures: signaturesOf(path, name) }];
  if (declares('class'))
    return [
      { name, kind: 'class', path, comments, isError: name.endsWith('Error') },
      ...(name.endsWith('Error') ? [] : classMembers(exported)),
    ];
  const members = objectMembers(exported);
  return [{ name, kind: 'constant', path, comments, isObject: members.length > 0 }, ...members];
}

/** All entries. Throws where one has no documentation. */
export function entries() {
  const all = [
    ...tableEntries('graph/ops', 'OPS'),
    ...tableEntries('graph/reductions', 'REDUCTIONS'),
    ...modules().flatMap((module) => moduleEntries(`graph/${module}`)),
    ...exportsOfIndex().flatMap(exportEntries),
  ];
  for (const { name, path, comments } of all)
    if (comments.length === 0) throw new Error(`${name} of src/${path}.ts has no documentation`);
  return all.map((entry) => ({ ...entry, examples: entry.comments.flatMap(({ examples }) => examples) }));
}

/** The comment that says most: overloads refer to each other. */
export function mainComment({ comments }) {
  const own = comments.filter(({ refers }) => !refers);
  return [...(own.length > 0 ? own : comments)].sort((a, b) => b.prose.length - a.prose.length)[0];
}

/** The first sentence of an entry's documentation. */
export function sentenceOf(entry) {
  const text = mainComment(entry)
    .prose.split(/\n\s*\n/)[0]
    .replace(/\s+/g, ' ');
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text.replace(/:?$/, '.');
}

/** Whether an entry is something to call, or to read from an array, so that it has to have an example. */
export const needsExample = ({ kind }) => ['method', 'function', 'member'].includes(kind);

export { readComment };
