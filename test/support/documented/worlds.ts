/**
 * Where the commands of a document run. A document that is not here has no commands that a test runs, and each of its
 * blocks has the reason above it.
 */
export interface World {
  /** Commands that come first: what the document takes for granted. */
  readonly before: string;
  /** They run in the checkout; default a folder of their own with a copy of `examples/`. */
  readonly inCheckout?: true;
  /** A plain block shows what the commands above it print. */
  readonly showsOutput?: true;
  /** What is written otherwise here, and why. */
  readonly instead?: readonly (readonly [written: string, here: string, why: string])[];
}

const installed = ['npm ci\n', '', 'the checkout of the tests is installed'] as const;
const atOnce = [
  'apply --source fleet ',
  'apply --source fleet --yes ',
  'nobody is there to be asked',
] as const;

/** A provider on this machine, in which the folder `fleet` has two services. */
const fleet = `
cat > accounts.yaml <<'YAML'
accounts: [{name: me, email: me@example.com, apiKeys: [key-of-the-documents]}]
YAML
serve PLANE fleetkeeper control-plane --listen 127.0.0.1:PLANE --database plane.db --accounts accounts.yaml --time-scale 60
export FLEETKEEPER_API_KEY=key-of-the-documents
mkdir fleet
cat > fleet/fleet.yaml <<'YAML'
apiVersion: fleetkeeper.dev/v1alpha1
kind: Account
metadata: {name: default}
spec: {url: 'http://127.0.0.1:PLANE', pollSeconds: 0.5}
---
apiVersion: fleetkeeper.dev/v1alpha1
kind: ContainerService
metadata: {name: web, labels: {tier: front}}
spec: {region: standard, image: 'ghcr.io/example/web:1.0', resources: {cpu: 1, memoryGb: 2}}
---
apiVersion: fleetkeeper.dev/v1alpha1
kind: StorageVolume
metadata: {name: data}
spec: {region: standard, sizeGb: 10}
---
apiVersion: fleetkeeper.dev/v1alpha1
kind: ContainerService
metadata: {name: worker}
spec: {region: standard, image: 'ghcr.io/example/worker:1.0', resources: {cpu: 1, memoryGb: 2}}
YAML
`;
const applied = `${fleet}fleetkeeper apply --source fleet --yes\n`;

/** A provider on this machine, for the copy of `examples/`. */
const tour = `
cd examples
serve PLANE fleetkeeper control-plane --listen 127.0.0.1:PLANE --database plane.db \
  --accounts control-plane/accounts.yaml --time-scale 16
sed -i.bak 's#http://127.0.0.1:[0-9]*#http://127.0.0.1:PLANE#; s/pollSeconds: 1 /pollSeconds: 0.5 /' fleet/account.yaml
`;

export const worlds: Readonly<Record<string, World>> = {
  'README.md': {
    before: 'git clone --quiet "$ROOT" clone; cd clone; export npm_config_prefer_offline=true\n',
    instead: [
      [
        'npm ci && npm test       # the everyday tests; exit 0 means that all passed\n',
        '',
        'this is one of the tests; .ci/run runs it on a fresh clone',
      ],
    ],
  },
  'docs/quickstart.md': {
    before: '',
    inCheckout: true,
    showsOutput: true,
    instead: [installed, ['/tmp/first', '$WORK', 'a folder of this test']],
  },
  'docs/how-to/change-services.md': {
    before: applied,
    instead: [['apply --source fleet\n', 'apply --source fleet --yes\n', 'nobody is there to be asked']],
  },
  'docs/how-to/ci.md': { before: fleet },
  'docs/how-to/import.md': {
    before: `${applied}mv fleet made\n`,
    instead: [
      ['https://api.example.com', 'http://127.0.0.1:PLANE', 'the provider of this test'],
      ['FLEETKEEPER_API_KEY=…', 'FLEETKEEPER_API_KEY=key-of-the-documents', 'its key'],
      [
        'import --output fleet',
        'import --all --output fleet',
        'the services have the mark of the fleet that made them',
      ],
    ],
  },
  'docs/how-to/protect-a-training-run.md': {
    before: `${fleet}printf '#!/bin/sh\\n' > evaluate.sh; chmod +x evaluate.sh\n`,
    showsOutput: true,
  },
  'docs/how-to/recover-lost-state.md': { before: applied },
  'docs/how-to/run-a-control-plane.md': { before: '' },
  'docs/how-to/run-a-service-fleet.md': { before: tour, showsOutput: true },
  'docs/how-to/run-in-a-folder.md': {
    before: `${fleet}printf %s "$FLEETKEEPER_API_KEY" > key; unset FLEETKEEPER_API_KEY\n`,
    instead: [['/etc/fleetkeeper/key', 'key', 'a file of this test'], atOnce],
  },
  'docs/reference/commands.md': {
    before: fleet,
    instead: [
      ['apply fleet ', 'apply fleet --yes ', 'nobody is there to be asked'],
      ['-l tier=front\n', '-l tier=front --yes\n', 'nobody is there to be asked'],
      [
        'fleetkeeper run fleet                      # keep it so\n',
        '',
        'it would hold the state; docs/how-to/run-in-a-folder.md shows the same',
      ],
      [
        'source <(fleetkeeper completion zsh)      # in ~/.zshrc, after compinit\n',
        '',
        'this is bash; test/processes/completion.test.ts runs it',
      ],
    ],
  },
  'docs/reference/reasons.md': { before: '' },
  'docs/reference/status.md': {
    before: applied,
    instead: [['kubectl describe csvc web\n', '', 'it needs a cluster']],
  },
};
