import type { QuotaAsk, QuotaReading } from '../store/quota.ts';

/** What a process asks of the one that supervises it. */
export type QuotaRequest =
  | { readonly quota: 'take'; readonly id: number; readonly asks: readonly QuotaAsk[] }
  | { readonly quota: 'give'; readonly id: number };

/** What it is answered. */
export interface QuotaReply {
  readonly quota: 'taken';
  readonly id: number;
  readonly granted: boolean;
  readonly readings: readonly QuotaReading[];
}

export function isQuotaRequest(message: unknown): message is QuotaRequest {
  const kind = kindOf(message);
  return kind === 'take' || kind === 'give';
}

export function isQuotaReply(message: unknown): message is QuotaReply {
  return kindOf(message) === 'taken';
}

function kindOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'quota' in message
    ? message.quota
    : undefined;
}
