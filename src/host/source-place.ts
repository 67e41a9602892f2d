/** Where a text that a call was given stands in the user's file. */
import { readFileSync } from 'node:fs';
import type { Site } from '../graph/expr.js';
import { formatSite } from './site.js';

/** A line and column, counted from 1, and the line's text. */
export interface LinePlace {
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

export function lineAt(text: string, offset: number): LinePlace {
  const before = text.slice(0, offset).split('\n');
  const column = before.at(-1)!.length + 1;
  return { line: before.length, column, text: text.split('\n')[before.length - 1]!.replaceAll('\t', ' ') };
}

/** The file of a call and its line; `start`: where the text begins there, if the file holds it. */
export interface TextPlace {
  readonly path: string;
  readonly line: number;
  readonly start: { readonly file: string; readonly offset: number } | undefined;
}

/** The place of a text that was given to a call; undefined where the call's file is not known. */
function placeOfText(site: Site | undefined, text: string): TextPlace | undefined {
  const place = /\(?((?:\/|[A-Za-z]:\\|file:).*?):(\d+):\d+\)?$/.exec(formatSite(site) ?? '');
  if (place === null) return undefined;
  const [, path, line] = place as unknown as [string, string, string];
  return { path, line: Number(line), start: foundIn(path, text, Number(line)) };
}

/** Where a text stands in a file, from some line on or before it. */
function foundIn(path: string, text: string, line: number): TextPlace['start'] {
  let file: string;
  try {
    file = readFileSync(path, 'utf8');
  } catch {
    return undefined; // a bundle's virtual file, or one that is not there any more
  }
  const from = file.split('\n', line - 1).join('\n').length;
  const after = file.indexOf(text, from);
  const offset = after >= 0 ? after : file.lastIndexOf(text, from);
  return offset < 0 ? undefined : { file, offset };
}

/** The line and column of the user's file that a text begins at, where that has it. */
export function placeAt(
  site: Site | undefined,
  text: string,
): { readonly path: string; readonly line: number; readonly column: number } | undefined {
  const place = placeOfText(site, text);
  if (place?.start === undefined) return undefined;
  const { line, column } = lineAt(place.start.file, place.start.offset);
  return { path: place.path, line, column };
}

/** A text that was given to a call: the words for it, and the call. */
export interface GivenText {
  readonly noun: string;
  readonly text: string;
  readonly site: Site | undefined;
}

/** Adds the place in a text to an error's message, and the line with a mark under it. */
export function pointedAt<E extends Error>(error: E, { noun, text, site }: GivenText, offset: number): E {
  const { line, column, text: quoted } = lineAt(text, offset);
  const file = placeInFile(site, text, offset);
  const where = `line ${line}, column ${column} of ${noun}${file === undefined ? '' : `, ${file}`}`;
  error.message += ` at ${where}\n  ${quoted}\n  ${' '.repeat(column - 1)}^`;
  return error;
}

/** The place in the user's file, or that of the call where the file holds another text. */
function placeInFile(site: Site | undefined, text: string, offset: number): string | undefined {
  const place = placeOfText(site, text);
  if (place === undefined) return undefined;
  if (place.start === undefined) return `given at ${place.path}:${place.line}`;
  const { line, column } = lineAt(place.start.file, place.start.offset + offset);
  return `${place.path}:${line}:${column}`;
}
