/**
 * Text of generated code, line by line, with indentation. Every printer of CUDA C in this folder writes
 * through it.
 */
export class Writer {
  readonly #lines: string[] = [];
  #depth = 0;

  /** One line, or several separated by newlines, at the present depth. */
  line(text = ''): void {
    for (const part of text.split('\n')) this.#lines.push(part === '' ? '' : '  '.repeat(this.#depth) + part);
  }

  /** `head {`, what `body` writes one level deeper, `}`. */
  block(head: string, body: () => void): void {
    this.line(head === '' ? '{' : `${head} {`);
    this.#depth++;
    body();
    this.#depth--;
    this.line('}');
  }

  /** A loop over `0 … count - 1` that the compiler unrolls; with one pass it is a plain scope. */
  unrolled(variable: string, count: number, body: () => void): void {
    this.line('#pragma unroll');
    this.block(`for (int ${variable} = 0; ${variable} < ${count}; ++${variable})`, body);
  }

  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}
