"""Checks the manifests of Kubernetes: manifests.py FILE...

Prints each problem, and ends with 1 if there is one. Needs the Python packages `kubernetes-validate` (Kubernetes' own
schemas) and `jsonschema`, so `containers.py` calls it in an environment that has them. Unknown fields are problems, as
for a server that validates strictly."""

import sys

import jsonschema
import kubernetes_validate
import yaml


def fields(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def whole(least=0):
    return {"type": "integer", "minimum": least}


TEXT = {"type": "string"}
TRUTH = {"type": "boolean"}
POLICY = fields(
    activeDeadlineSeconds=whole(), backoffLimit=whole(), managedBy=TEXT, suspend=TRUTH, ttlSecondsAfterFinished=whole(),
    cleanPodPolicy={"enum": ["None", "Running", "All"]},
    schedulingPolicy=fields(minAvailable=whole(), minResources={"type": "object"}, priorityClass=TEXT, queue=TEXT,
                            scheduleTimeoutSeconds=whole()),
)
# A pod is checked by Kubernetes' own schema.
REPLICAS = fields(["template"], replicas=whole(1), restartPolicy={"enum": ["Never", "OnFailure", "Always"]},
                  template=fields(["spec"], metadata={"type": "object"}, spec={"type": "object"}))
# The fields of MPIJob, version v2beta1, of the MPI operator.
MPIJOB = fields(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "kubeflow.org/v2beta1"}, kind={"const": "MPIJob"},
    metadata={"type": "object", "required": ["name"]},
    spec=fields(
        ["mpiReplicaSpecs"], mpiImplementation={"enum": ["OpenMPI", "Intel", "MPICH"]}, sshAuthMountPath=TEXT,
        slotsPerWorker=whole(1), runLauncherAsWorker=TRUTH, runPolicy=POLICY,
        launcherCreationPolicy={"enum": ["AtStartup", "WaitForWorkersReady"]},
        mpiReplicaSpecs=fields(["Launcher"], Launcher=REPLICAS, Worker=REPLICAS),
    ),
)


def problems(document):
    """What is wrong with one document."""
    newest = kubernetes_validate.latest_version()
    pods = []
    if document.get("kind") == "MPIJob":
        for error in jsonschema.Draft7Validator(MPIJOB).iter_errors(document):
            yield f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
        for name, replicas in document["spec"]["mpiReplicaSpecs"].items():
            spec = replicas.get("template", {}).get("spec", {})
            pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name.lower()}, "spec": spec})
    else:
        pods.append(document)
    for one in pods:
        try:
            kubernetes_validate.validate(one, newest, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{one['metadata']['name']}: {str(error).splitlines()[0]}"


def main():
    count = 0
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            documents = list(yaml.safe_load_all(file))
        if not documents:
            print(f"{name}: it is empty")
            count += 1
        for document in documents:
            for problem in problems(document):
                print(f"{name}: {document.get('kind')}: {problem}")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
