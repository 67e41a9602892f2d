/**
 * Which requests the dashboard answers: those to this machine's own name, whose path begins with the token. The name
 * is checked because a page of another site may have its own name resolve to 127.0.0.1 (DNS rebinding), and then read
 * what it is sent; the token, because other users and programs of the machine reach the port as well.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const OWN_NAMES: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Whether a host of a header is this machine by one of its own names. Any port: it may be forwarded from another
 * machine (`ssh -L`).
 */
const isOwn = (host: string | undefined): boolean =>
  host !== undefined && OWN_NAMES.has(host.toLowerCase().replace(/:\d{1,5}$/, ''));

/** Whether a request is for this machine, and of no other site's page. */
export function isLocal({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { host, origin } = headers;
  if (!isOwn(host) || headers['sec-fetch-site'] === 'cross-site') return false;
  return origin === undefined || origin === `http://${host}`;
}

/** The path after the token; undefined: it has another one, or none. */
export function pathAfterToken(url: string, token: string): string | undefined {
  const [, given = '', rest] = /^\/([^/?]*)(\/[^?]*)?(?:\?|$)/.exec(url) ?? [];
  const [own, other] = [Buffer.from(token), Buffer.from(given)];
  // Of equal length, the time to compare says nothing of where they differ.
  return own.length === other.length && timingSafeEqual(own, other) ? (rest ?? '') : undefined;
}

/** Nothing is loaded from elsewhere, run inline, framed, cached or named to other sites. */
export const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const;
