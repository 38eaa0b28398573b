import ctypes, json, sys
read = ctypes.CDLL(sys.argv[1]).load_env_file
read.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.POINTER(ctypes.c_char_p))]
out, lines, i = ctypes.POINTER(ctypes.c_char_p)(), [], 0
rc = read(None, sys.argv[2].encode(), ctypes.byref(out))
if rc < 0:
    sys.exit("load_env_file: %d" % rc)
while out and out[i]:
    lines.append(out[i].decode())
    i += 1
print(json.dumps(lines))
