/**
 * Values that are often there at once: what follows is done in the same call then, without a promise and a turn of the
 * microtasks, and where they are not, when their promise gives them. Short computes take as long as a few promises.
 */

/** Goes on with a value, now where it is there. */
export const whenThere = <T, U>(value: T | Promise<T>, goOn: (value: T) => U | Promise<U>): U | Promise<U> =>
  value instanceof Promise ? value.then(goOn) : goOn(value);

/** Does work, and goes on with the error that it throws or rejects with. */
export function orElse<T>(
  work: () => T | Promise<T>,
  failed: (error: unknown) => Promise<T>,
): T | Promise<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(failed) : value;
  } catch (error) {
    return failed(error);
  }
}
