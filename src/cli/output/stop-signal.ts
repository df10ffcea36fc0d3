/** Resolves with the first stop signal. A second signal ends the process by default handling. */
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
