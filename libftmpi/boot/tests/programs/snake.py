# Objects, generators, regular expressions, big integers, files. usage: snake.py STEPS FOLDER LIBRARY
import ctypes, hashlib, json, math, os, re, sys

steps, folder, library = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.chdir(folder)
ctypes.CDLL(library).ftmpi_test_begin()


def numbers(seed):
    while True:
        seed = seed * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        yield seed >> 33


source = numbers(42)
digest = hashlib.sha256()
table, big = {}, 1
text = open("text", "w")
for step in range(steps):
    n = next(source)
    table[n % 1000] = [next(source) for _ in range(n % 30)]
    if n % 7 == 0:
        table.pop(next(source) % 1000, None)
    big = big * (n | 1) % (1 << 2000)
    digest.update(json.dumps([step, table.get(n % 1000), math.sin(n)]).encode())
    digest.update(re.sub("[0-4]+", "x", str(big)).encode())
    print(step, digest.hexdigest(), file=text)
text.close()
print(digest.hexdigest())
sys.exit(3)
