// Signatures as the reference shows them, and the options that they name.
import { bodyOf, readComment, sourceOf } from './declarations.mjs';

const shown = (text) =>
  text
    .replace(/, \.\.\.more: readonly unknown\[\]/g, '')
    .replace(/AxisOr<(\w+)>/g, 'Axes | null | $1')
    .replace(/\bExpr\b/g, 'Lazy')
    .replace(/\bOperand\b/g, 'ArrayLike')
    .replace(/Given<(\w+(?: \| null)?(?: \| undefined)?)>/g, '$1');

const PLACES = [[], ['y'], ['y', 'z'], ['y', 'z', 'w']];

/** The signature of a row of ops: its method, with as many further arguments as it takes. */
function ofOp({ name }, row) {
  if (name === 'where')
    return ['where(condition: ArrayLike, x: ArrayLike, y: ArrayLike): Lazy', 'condition.where(x, y)'];
  const rest = PLACES[row.arity - 1];
  const typed = rest.map((each) => `${each}: ArrayLike`).join(', ');
  return [`x.${name}(${typed}): Lazy`, `${name}(${['x', ...rest].join(', ')})`];
}

function ofReduction({ name }) {
  const options = ['sum', 'prod'].includes(name) ? 'SumOptions' : 'ReduceOptions';
  return [`x.${name}(axis?: Axes | null | ${options}, options?: ${options}): Lazy`, `${name}(x, axis)`];
}

/** A function of a node as the method that it is. */
function ofMethod({ name, aliases, signatures }) {
  const [, parameters] =
    /^export function \w+\((?:x|given|\w+): Expr(?:, )?(.*)\): Expr$/.exec(signatures[0]) ?? [];
  if (parameters === undefined) return [shown(signatures[0])];
  const method = aliases?.includes('var') ? 'var' : name;
  const names = [...parameters.matchAll(/(?:^|, )(\.{0,3}\w+)\??:/g)]
    .map(([, each]) => each)
    .filter((each) => each !== 'options');
  return [`x.${method}(${shown(parameters)}): Lazy`, `${method}(${['x', ...names].join(', ')})`];
}

/** Lines of TypeScript: the signatures, then the other way to write a method. */
export function signatureLines(entry, row) {
  if (entry.table === 'OPS') return ofOp(entry, row);
  if (entry.table === 'REDUCTIONS') return ofReduction(entry);
  if (entry.kind === 'method') return ofMethod(entry);
  const { name, owner, signatures = [] } = entry;
  const isObject = owner !== undefined && /^[a-z]/.test(owner);
  return signatures.map((text) => {
    const bare = text.replace(/^export /, '').replace(/^(?:async |readonly |get )*/, '');
    const called = bare.replace(/^(?:function|const) \w+/, isObject ? name : (word) => word.split(' ')[1]);
    const isGetter = /^get /.test(text.replace(/^export /, ''));
    return shown(isGetter ? called.replace(/\(\):/, ':') : called);
  });
}

/** The fields of an interface with those that it extends: [{ name, type, text, isOptional }]. */
export function fieldsOf(path, name, find) {
  const body = bodyOf(path, 'interface', name);
  if (body === undefined) return [];
  const text = sourceOf(path).slice(body.start, body.end);
  const parents = /^[^{]*?extends ([^{]*)\{/.exec(text)?.[1] ?? '';
  const inherited = [...parents.matchAll(/(?:Pick<)?(\w+)(?:, ((?:'\w+'(?: \| )?)+)>)?/g)]
    .filter(([, parent]) => /^[A-Z]/.test(parent))
    .flatMap(([, parent, picked]) =>
      fieldsOf(find(parent, path) ?? path, parent, find).filter(
        (field) => picked === undefined || picked.includes(`'${field.name}'`),
      ),
    );
  const pattern =
    /^ {2}(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\n {2}(?:readonly )?(\w+)(\??)(\([\s\S]*?\))?: ([\s\S]*?);$/gm;
  const own = [...text.matchAll(pattern)].map(([, comment, key, optional, parameters = '', type]) => ({
    name: key,
    isOptional: optional === '?',
    type: `${parameters}${parameters === '' ? '' : ' => '}${type}`
      .replace(/\s+/g, ' ')
      .replace(/ \| undefined$/, ''),
    text: readComment(comment).prose.replace(/\s+/g, ' '),
  }));
  const names = new Set(own.map((field) => field.name));
  return [...own, ...inherited.filter((field) => !names.has(field.name))];
}

/** Whether the fields of an interface are all that it has: no signature of its own, every member described. */
export function isOfFields(text) {
  const members = text.match(/^ {2}(?:readonly )?\w+\??[(:]/gm) ?? [];
  const comments = text.match(/^ {2}\/\*\*/gm) ?? [];
  const isOpen = /^ {2}[(<[]/m.test(text);
  return text.startsWith('interface') && members.length > 0 && members.length === comments.length && !isOpen;
}

/** The interfaces of options that signatures name. */
export const optionNames = (lines) => [
  ...new Set(lines.flatMap((line) => line.match(/\b[A-Z]\w*Options\b/g) ?? [])),
];
