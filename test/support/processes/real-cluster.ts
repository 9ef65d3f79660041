/** The kubeconfig of a real cluster; undefined when the machine has none. */
export async function realCluster(): Promise<string | undefined> {
  const given = process.env['KUBECONFIG'];
  return given === undefined || given === '' ? undefined : given;
}
