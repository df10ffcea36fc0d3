import { isAuthorize } from './forward-auth.ts';
import { isPage } from './plain.ts';

/** Whether a path is one of the gateway's own: of the protocol, of the pages beside it, of the console, or where proxies ask. */
export function isOwnPath(path: string): boolean {
  return isProtocol(path) || isAuthorize(path) || isConsole(path) || isPage(path);
}

/** Whether a path is one of the protocol. */
export function isProtocol(path: string): boolean {
  return /^\/v1(\/|$)/.test(path);
}

/** Whether a path is one of the review console. */
export function isConsole(path: string): boolean {
  return /^\/console(\/|$)/.test(path);
}
