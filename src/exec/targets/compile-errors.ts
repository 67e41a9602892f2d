/** Errors of NVRTC in texts of the user's own, with the places there, and in the user's file where that has the text. */
import type { CudaText } from '../../graph/loop-step.js';
import { CompileError, expected } from '../../host/errors.js';

/** `operation_1a(3): error: …`, with the line that is quoted and a mark under its column; or `operation_1a:3:7: error`. */
const PLACE = /^([\w.]+)(?:\((\d+)\)|:(\d+)(?::(\d+))?):(.*)$/;

/** The error of a source that holds such texts: `z = foo(x)` → `app.ts:41:7: error: identifier "foo" is undefined`. */
export function userError(texts: readonly CudaText[], error: CompileError): CompileError {
  const { log = error.message } = error;
  const byFile = new Map(texts.map((text) => [text.file, text]));
  const lines = log.split('\n');
  let first: CudaText | undefined;
  const mapped = lines.map((line, k) => {
    const found = PLACE.exec(line);
    const text = byFile.get(found?.[1] ?? '');
    if (found === null || text === undefined) return line;
    if (/error/.test(line)) first ??= text;
    const at = Number(found[2] ?? found[3]);
    const column =
      found[4] === undefined ? markedColumn(text, at, lines[k + 1], lines[k + 2]) : Number(found[4]);
    return `${placeIn(text, at, column)}:${found[5]}`;
  });
  const { owner, noun } = first ?? texts[0]!;
  return new CompileError(expected(owner, `${noun} that compiles`, `\n${mapped.join('\n')}`), {
    cause: error,
  });
}

/** The column in a text's line that a mark stands under, in the compiler's quotation of that line. */
function markedColumn({ text }: CudaText, line: number, quoted = '', mark = ''): number | undefined {
  const own = text.split('\n')[line - 1];
  if (own === undefined || !/^\s*\^\s*$/.test(mark)) return undefined;
  const at = own.indexOf(quoted.trim());
  const column = mark.indexOf('^') - (quoted.length - quoted.trimStart().length) + at + 1;
  return at < 0 || column < 1 ? undefined : column;
}

function placeIn({ place, noun }: CudaText, line: number, column: number | undefined): string {
  if (place === undefined)
    return `line ${line}${column === undefined ? '' : `, column ${column}`} of ${noun}`;
  const inFile = column === undefined ? '' : `:${line === 1 ? column + (place.column ?? 1) - 1 : column}`;
  return `${place.path}:${place.line + line - 1}${inFile}`;
}
