/** Resolves with the first signal to stop. A second one ends the process as if nobody listened. */
export function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    const stop = (signal: string): void => {
      process.removeListener('SIGTERM', stop);
      process.removeListener('SIGINT', stop);
      resolve(signal);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
