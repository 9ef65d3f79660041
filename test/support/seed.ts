/** Of what a test draws at random: another one each time, so the test has it in its name; `SEED` repeats a run that failed. */
export const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
