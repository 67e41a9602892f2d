/**
 * A piece of the prelude: text of device functions and the names that bring it into a source. `prelude.ts`
 * puts the pieces together.
 */
export interface Piece {
  readonly defines: readonly string[];
  readonly text: string;
}

/** Reads from the text which functions and types it defines, so that the two cannot disagree. */
export function piece(text: string): Piece {
  const defines = new Set<string>();
  for (const line of text.split('\n')) {
    const found = /^(inline )?__device__/.test(line)
      ? /^[^(]*\b(weft_\w+)\(/.exec(line.replace('__attribute__((noinline))', ''))
      : line.startsWith('struct ')
        ? /\b(weft_\w+) \{/.exec(line)
        : /^typedef .*\b(weft_\w+);/.exec(line);
    if (found !== null) defines.add(found[1]!);
  }
  return { defines: [...defines], text: text.trim() };
}
