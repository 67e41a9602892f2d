// The examples of the reference, and running them: all snippets are one TypeScript program, compiled by the project's
// compiler and run in one process on the CPU.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './declarations.mjs';
import { exampleOfOp, exampleOfReduction } from './derived.mjs';
import { entries, needsExample } from './entries.mjs';
import { bodyOfSnippet, snippetsOfPages, stretchesOf } from './snippets.mjs';

/** Snippets of entries: those of their comments, else that of their row. */
async function examplesOf(all) {
  const { OPS } = await import(pathToFileURL(join(ROOT, 'dist/src/graph/ops.js')).href);
  return all.filter(needsExample).flatMap((entry) => {
    const written = entry.comments.flatMap((comment) =>
      comment.examples.map((code) => ({ entry, comment, code, isDerived: false })),
    );
    const derived =
      entry.table === 'OPS'
        ? exampleOfOp(entry.name, OPS[entry.name])
        : entry.table === 'REDUCTIONS'
          ? exampleOfReduction(entry.name)
          : undefined;
    const codes =
      written.length > 0
        ? written
        : derived === undefined
          ? []
          : [{ entry, code: `${derived}\n//=> `, isDerived: true }];
    return codes.map((snippet, k) => ({
      ...snippet,
      id: `${entry.name}${k > 0 ? `, example ${k + 1}` : ''}`,
    }));
  });
}

export async function allSnippets() {
  const all = entries();
  return { all, snippets: [...(await examplesOf(all)), ...snippetsOfPages()] };
}

/** Exported names that a snippet uses. */
export function namesIn(code, exported) {
  const bare = code.replace(/\/\/.*$/gm, '').replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
  const imported = [...code.matchAll(/^import \{([^}]*)\} from 'weftjs'/gm)].flatMap(([, names]) =>
    names.split(',').map((name) => name.replace('type ', '').trim()),
  );
  const isUsed = (name) =>
    bare.includes(name) &&
    new RegExp(`(?<![.\\w$])${name}(?![\\w$]|:)`).test(bare) &&
    !new RegExp(`\\b(const|let|using|function) ${name}\\b`).test(bare) &&
    !new RegExp(`\\b(const|let) [{[][^=]*\\b${name}\\b[^=]*[}\\]] =`).test(bare);
  return exported.filter((name) => imported.includes(name) || (imported.length === 0 && isUsed(name)));
}

/** The program: a function for each snippet, which is given where its output goes. */
function programOf(snippets, all) {
  const values = all.filter(({ kind, name }) => kind !== 'type' && !name.includes('.'));
  const methods = values
    .filter(({ kind }) => kind === 'method')
    .flatMap(({ name, aliases }) => [name, ...aliases]);
  const types = all.filter(({ kind }) => kind === 'type').map(({ name }) => name);
  const exported = [...new Set([...values.map(({ name }) => name), ...methods, ...types])].filter(
    (name) => name !== 'var',
  );
  const used = new Set(snippets.flatMap(({ code }) => namesIn(code, exported)));
  const imports = [...used].map((name) => (types.includes(name) ? `type ${name}` : name));
  const functions = snippets.map(
    ({ id, code }, k) =>
      `// ${id}\nexport async function snippet${k}(out: Out) {\nconst { console } = out;\n${bodyOfSnippet(code)}\n}`,
  );
  return `import { ${imports.join(', ')} } from 'weftjs';
interface Out {
  readonly console: { log(...values: unknown[]): void; error(...values: unknown[]): void };
  show(value: () => Promise<unknown>): Promise<void>;
  end(): void;
}
${functions.join('\n')}
`;
}

/** Compiles the program; returns the path of the module, or what the compiler says. */
function compiledProgram(snippets, all) {
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'build', 'snippets-'));
  const text = programOf(snippets, all);
  writeFileSync(join(folder, 'snippets.ts'), text);
  const compilerOptions = { rootDir: '.', outDir: 'out', declaration: false };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', include: ['*.ts'], compilerOptions }),
  );
  const { stdout } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const lines = text.split('\n');
  const errors = [...stdout.matchAll(/^.*snippets\.ts\((\d+),\d+\): (.*)$/gm)].map(([, line, message]) => {
    const head = lines
      .slice(0, Number(line))
      .findLast((each) => /^export async function snippet\d+/.test(each));
    const k = Number(/\d+/.exec(head ?? '')?.[0] ?? -1);
    return `${snippets[k]?.id ?? 'imports'}: ${message}\n  ${lines[Number(line) - 1].trim()}`;
  });
  if (errors.length === 0 && stdout !== '') errors.push(stdout);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { path: join(folder, 'out', 'snippets.js'), errors, remove };
}

/** A promise that is rejected where it takes longer than any example should, on a machine that does much else. */
async function inTime(promise, milliseconds = 60_000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end within ${milliseconds / 1000} s`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The names under which an entry may be called: its aliases, and a method of a Lazy without its class. */
const namesOf = (entry) =>
  entry === undefined ? [] : [entry.name, ...(entry.aliases ?? []), entry.name.replace(/^Lazy\./, '')];

/** Runs a snippet; gives the lines that each of its stretches printed. */
async function printed(run) {
  const { formatWithOptions } = await import('node:util');
  const stretches = [[]];
  const log = (...values) => {
    const text = formatWithOptions({ colors: false }, ...values);
    stretches.at(-1).push(...text.split('\n').map((line) => line.trimEnd()));
  };
  const show = async (value) => {
    try {
      log(await value());
    } catch (error) {
      log(`throws ${error}`);
    }
  };
  const { write } = process.stderr;
  process.stderr.write = (text) => log(String(text).trimEnd()) ?? true;
  try {
    await run({ console: { log, error: log }, show, end: () => stretches.push([]) });
  } finally {
    process.stderr.write = write;
  }
  return stretches.slice(0, -1);
}

/**
 * A module that exports what Weft does, with functions that a recorder watches, for the program to import instead; and
 * the methods of arrays watched.
 */
async function watch(recorder, folder) {
  const weft = await import('weftjs');
  const watched = {};
  for (const [name, value] of Object.entries(weft)) {
    const isClass = typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
    if (typeof value === 'function' && !isClass) watched[name] = recorder.watched(name, value);
    else if (Object.prototype.toString.call(value) === '[object Object]')
      watched[name] = Object.fromEntries(
        Object.entries(value).map(([key, member]) => [
          key,
          typeof member === 'function' ? recorder.watched(`${name}.${key}`, member) : member,
        ]),
      );
    else watched[name] = value;
  }
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(weft.Lazy.prototype)))
    if (typeof value === 'function' && name !== 'constructor')
      weft.Lazy.prototype[name] = recorder.watched(name, value);
  globalThis.watchedWeft = watched;
  const names = Object.keys(watched).filter((name) => name !== 'var');
  const path = join(folder, 'watched.js');
  writeFileSync(path, `export const { ${names.join(', ')} } = globalThis.watchedWeft;\n`);
  return path;
}

/** Runs all snippets in a folder of their own, one after the other: [{ snippet, stretches, printed }]. */
export async function runSnippets(snippets, all, recorder) {
  process.env.WEFT_DEVICE = 'cpu';
  process.env.WEFT_THREADS ??= '1';
  const { path, errors, remove } = compiledProgram(snippets, all);
  const before = process.cwd();
  const folder = mkdtempSync(join(tmpdir(), 'weft-examples-'));
  try {
    if (errors.length > 0) return { errors, results: [] };
    if (recorder !== undefined) {
      const watched = await watch(recorder, dirname(path));
      writeFileSync(
        path,
        readFileSync(path, 'utf8').replace("from 'weftjs'", `from '${pathToFileURL(watched).href}'`),
      );
    }
    const program = await import(pathToFileURL(path).href);
    process.chdir(folder);
    const results = [];
    for (const [k, snippet] of snippets.entries()) {
      recorder?.begin(namesOf(snippet.entry));
      try {
        const lines = await inTime(printed(program[`snippet${k}`]));
        results.push({ snippet, stretches: stretchesOf(snippet.code), printed: lines });
      } catch (error) {
        errors.push(`${snippet.id}: ${error instanceof Error ? error.stack : error}`);
      }
    }
    return { errors, results };
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
    remove();
  }
}
