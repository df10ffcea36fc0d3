/**
 * Waits for two pieces of work that go on at the same time. When one fails, the other
 * is still waited for: only then is it known what it wrote.
 */
export async function both<Left, Right>(
  left: Promise<Left>,
  right: Promise<Right>,
): Promise<readonly [Left, Right]> {
  await Promise.allSettled([left, right]);
  return [await left, await right];
}
