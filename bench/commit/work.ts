/** What is committed in one measurement: each client has a table of its own. */
export interface Work {
  readonly clients: number;
  /** Commits of each client, one after the other. */
  readonly commits: number;
}

/** One side's clients. */
export interface Committers {
  /** What is made ready before the clock runs. */
  prepare(work: Work): Promise<void>;
  /** One commit of a client: the how-many-th of this measurement. */
  commit(client: number, turn: number): Promise<void>;
  /** @throws Error when a commit was lost or made twice. */
  check(work: Work): Promise<void>;
}

/** Commits per second, of all clients at once. */
export async function commitsPerSecond(side: Committers, work: Work): Promise<number> {
  await side.prepare(work);
  const start = performance.now();
  await Promise.all(
    Array.from({ length: work.clients }, async (_, client) => {
      for (let turn = 0; turn < work.commits; turn++) await side.commit(client, turn);
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await side.check(work);
  return (work.clients * work.commits) / seconds;
}
