import type { QuotaAnswer, QuotaCharge, QuotaRate, QuotaReading } from '../../store/quota.ts';

/** What a process keeps of a counter of its supervisor. */
export interface CounterLease {
  readonly rate: QuotaRate | null;
  readonly concurrency: number | null;
  units: number;
  slots: number;
  /** What the counter has beside that, and the time until it is whole, as the supervisor said last. */
  left: number;
  slotsLeft: number;
  fullMicros: number;
  isUsed: boolean;
  /** Whether slots of requests that end are kept for others. */
  isOpen: boolean;
}

/** Takes the charges of a request from what is kept. @param leave Called with each slot that it returns. */
export function takenFrom(
  charges: readonly QuotaCharge[],
  leases: readonly CounterLease[],
  leave: (key: string, lease: CounterLease) => void,
): QuotaAnswer {
  const readings = charges.map((charge, at) => readingAfter(charge, leases[at]!));
  const release = atFirstCall(() => {
    for (const [at, { key, concurrency }] of charges.entries()) {
      if (concurrency !== null) leave(key, leases[at]!);
    }
  });
  return { granted: true, readings, release };
}

function readingAfter({ rate, cost, concurrency }: QuotaCharge, lease: CounterLease): QuotaReading {
  if (rate !== null) lease.units -= cost;
  if (concurrency !== null) lease.slots -= 1;
  lease.isUsed = true;
  return {
    waitMicros: 0,
    left: rate === null ? null : lease.left + lease.units,
    fullMicros: lease.fullMicros,
    slotsLeft: concurrency === null ? null : lease.slotsLeft + lease.slots,
    busy: false,
  };
}

/** Whether a lease is enough for a charge. */
export function leaseAllows(lease: CounterLease, charge: QuotaCharge): boolean {
  const hasUnits = charge.rate === null || lease.units >= charge.cost;
  const hasSlots = charge.concurrency === null || lease.slots > 0;
  return hasUnits && hasSlots && isOfLimit(lease, charge);
}

/** Whether a lease and a charge are of the same limit. */
export function isOfLimit(lease: CounterLease, { rate, concurrency }: QuotaCharge): boolean {
  return (
    lease.concurrency === concurrency &&
    lease.rate?.intervalMicros === rate?.intervalMicros &&
    lease.rate?.burst === rate?.burst
  );
}

/** Work that is done at the first call. */
export function atFirstCall(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
