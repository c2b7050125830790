"""Builds the package of conda's recipe with rattler-build, in Python: conda_recipe.py RECIPE DIST OUTPUT

The recipe is read and rendered as it is. What its channels have (compilers) cannot be had on a test machine, so the
package is built without them from a ready tree. Then the recipe's own tests run in a fresh environment. Prints the
package."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import rattler_build


def main() -> int:
    recipe_file, dist, output = (Path(word).resolve() for word in sys.argv[1:])
    recipe = rattler_build.Stage0Recipe.from_file(recipe_file)
    compilers = {f"{language}_compiler": [name] for language, name in
                 (("c", "gcc"), ("fortran", "gfortran"), ("rust", "rust"))}
    rendered = recipe.render(rattler_build.VariantConfig(compilers))
    needs = [str(need) for need in rendered[0].recipe.to_dict()["requirements"]["build"]]
    if len(rendered) != 1 or len(needs) != 4:
        print(f"rendered: {len(rendered)} packages, which need {needs}", file=sys.stderr)
        return 1
    changed = recipe.to_dict()
    changed["requirements"]["build"] = []
    # rattler-build writes the recipe that it builds into its folder.
    folder = output / "recipe"
    folder.mkdir(parents=True)
    shutil.copy(recipe_file.with_name("build.sh"), folder)
    changed["source"] = [{"path": str(recipe_file.parent.parent.parent)}]
    changed["build"]["script"] = {"file": "build.sh", "env": {"FTMPI_DIST": str(dist)}}
    ready = rattler_build.Stage0Recipe.from_dict(changed, recipe_dir=folder)
    tools = rattler_build.ToolConfiguration(test_strategy="native")
    built = ready.run_build(tool_config=tools, output_dir=output, channels=[])
    print(built[0].packages[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
