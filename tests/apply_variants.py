"""Variants of the fixtures that have to be refused: what is changed, and the reason."""

from __future__ import annotations

from dataclasses import dataclass

from apply_trees import BUILD, FIXTURES, KEYS, LAYERED, ROWS

MAPPED = "srt/mem_cache/mapped.py"
MAIN = "        self.main_pool = Rows(size, page_size, layers, device)\n"
INDEX_KV = """\
        self.index_kv_pool: Optional[Rows] = (
            Rows(size, page_size, value_layers, device, heads=1, head_dim=8)
            if value_layers
            else None
        )
"""
INDEX_K = """\
        self.index_k_pool = None
        if key_layers:
            self.index_k_pool = keys.KeyPool(
                size=size,
                page_size=page_size,
                layers=key_layers,  # no values
                device=device,
            )
"""
KEY_INIT = """\
    def __init__(self, size, page_size, layers, device, head_dim=8):
        super().__init__(size, page_size, layers, device)
        self.head_dim = head_dim
        self.k_buffer = [
            torch.zeros((size + page_size, 1, head_dim), device=device)
            for _ in range(layers)  # one for each layer
        ]
"""
CHIP = "srt/hardware/chip_pools.py"
CHIP_INIT = (FIXTURES / "params/sglang" / CHIP).read_text()
CHIP_INIT = CHIP_INIT[CHIP_INIT.index("    def __init__(") :]
CHIP_INIT = CHIP_INIT[: CHIP_INIT.index("    def _set_up_copy")]
CREATE = """\
    def create(self):
        rows, heads, head_dim = 1, 1, 1
        self.k_buffer = [torch.zeros((rows, heads, head_dim))]
        self.v_buffer = [torch.zeros((rows, heads, head_dim))]
"""
GETTER = "    def get_key_buffer(self, layer_id):\n"
LAST = "        return 0  # nobody asks\n"
ROW = "Rows(size, page_size, layers, device)"


@dataclass(frozen=True)
class Variant:
    """One change of one fixture and where and why it is refused."""

    name: str
    changes: tuple[tuple[str, str, str], ...]
    at: str
    reason: str
    shape: str = "direct"
    flag: str = "always"


def _wrapper(name: str, reason: str, *changes: tuple[str, str]) -> Variant:
    edits = tuple((LAYERED, old, new) for old, new in changes)
    return Variant(name, edits, LAYERED, reason)


def _keys(name: str, reason: str, *changes: tuple[str, str]) -> Variant:
    edits = tuple((KEYS, old, new) for old, new in changes)
    return Variant(name, edits, KEYS, reason)


def _subclass(*body: str) -> tuple[str, str]:
    lines = "".join(f"        {line}\n" for line in body)
    more = "\n\nclass More(LayeredPool):\n    def __init__(self, *args):\n"
    return LAST, f"{LAST}{more}        super().__init__(*args)\n{lines}"


HIDDEN = (
    _wrapper(
        "a factory",
        "cannot tell which pool `self.index_k_pool` is given",
        (INDEX_K, "        self.index_k_pool = make_index(size)\n"),
    ),
    _wrapper(
        "a factory under another name",
        "cannot tell which pool `self.third` is",
        (INDEX_K, "        self.third = make_index(size)\n"),
        ("self.index_k_pool is not None", "self.third is not None"),
        ("return self.index_k_pool.get", "return self.third.get"),
    ),
    _wrapper(
        "a class that is no pool",
        "cannot tell which pool `self.index_k_pool` is given",
        (INDEX_K, "        self.index_k_pool = other.Thing(size)\n"),
    ),
    _wrapper(
        "a list of pools",
        "`self.index_k_pool` holds several pools",
        (INDEX_K, f"        self.index_k_pool = [{ROW} for _ in range(2)]\n"),
    ),
    _wrapper(
        "a dict of pools",
        "`self.index_k_pool` holds several pools",
        (INDEX_K, f"        self.index_k_pool = {{0: {ROW}}}\n"),
    ),
    _wrapper(
        "appended pools",
        "`Rows` builds a pool that no attribute is given",
        (INDEX_K, f"        self.rest = []\n        self.rest.append({ROW})\n"),
    ),
    _wrapper(
        "setattr",
        "`Rows` builds a pool that no attribute is given",
        (INDEX_K, f"        setattr(self, 'index_k_pool', {ROW})\n"),
    ),
    _wrapper(
        "a tuple of targets",
        "`Rows` builds a pool that no attribute is given",
        (MAIN, ""),
        (INDEX_KV, f"        self.main_pool, self.index_kv_pool = {ROW}, {ROW}\n"),
    ),
    _wrapper(
        "two names for one pool",
        "`main_pool` and `also` can be the same pool",
        (MAIN, f"        self.main_pool = self.also = {ROW}\n"),
    ),
    _wrapper(
        "two names through a local",
        "`main_pool` and `also` can be the same pool",
        (
            MAIN,
            f"        main = {ROW}\n"
            "        self.main_pool = main\n        self.also = main\n",
        ),
    ),
    _wrapper(
        "at times another sub-pool",
        "`self.index_k_pool` can be `self.main_pool`, which is not a known pool",
        (INDEX_K, f"        self.index_k_pool = self.main_pool if size else {ROW}\n"),
    ),
    _wrapper(
        "at times what is given",
        "`self.index_k_pool` can be `value_layers`, which is not a known pool",
        (INDEX_K, f"        self.index_k_pool = value_layers or {ROW}\n"),
    ),
    _wrapper(
        "wrapped",
        "can be `guard(Rows(size, page_size, layers, device))`",
        (INDEX_K, f"        self.index_k_pool = guard({ROW})\n"),
    ),
    _wrapper(
        "built in a lambda",
        "`Rows` builds a pool that no attribute is given",
        (MAIN, f"        make = lambda: {ROW}\n        self.main_pool = make()\n"),
    ),
    _wrapper(
        "built in a nested function",
        "`Rows` builds a pool that no attribute is given",
        (
            MAIN,
            f"        def make():\n            return {ROW}\n\n"
            "        self.main_pool = make()\n",
        ),
    ),
    _wrapper(
        "partial",
        "`Rows` is handed to something that may build it",
        (MAIN, "        make = partial(Rows, size)\n        self.main_pool = make()\n"),
    ),
    _wrapper(
        "a loop variable",
        "cannot tell which pool `self.index_k_pool` is given",
        (INDEX_K, "        for self.index_k_pool in given:\n            pass\n"),
    ),
    _wrapper(
        "inherited",
        "LayeredPool inherits `first_pool`, which Half builds",
        (
            "class LayeredPool(KVCache):",
            "class Half(KVCache):\n    def __init__(self, size, page_size, layers, "
            f"device):\n        self.first_pool = {ROW}\n\n\nclass LayeredPool(Half):",
        ),
    ),
    _wrapper(
        "a subclass builds more",
        "More builds a pool by `Rows`, which the move of LayeredPool would not know",
        _subclass("self.more_pool = Rows(1, 1, 1, 'cpu')"),
    ),
    _wrapper(
        "a subclass replaces one",
        "More replaces the sub-pool `main_pool`",
        _subclass("self.main_pool = wrapped(self.main_pool)"),
    ),
)

UNMOVABLE = (
    _keys(
        "a move that does nothing",
        "KeyPool cannot be moved: its move_kv_cache does nothing",
        (GETTER, f"    def move_kv_cache(self, a, b):\n        pass\n\n{GETTER}"),
    ),
    _keys(
        "a move that refuses",
        "KeyPool cannot be moved: its move_kv_cache raises NotImplementedError",
        (
            GETTER,
            "    def move_kv_cache(self, a, b):\n"
            f"        raise NotImplementedError\n\n{GETTER}",
        ),
    ),
    _keys(
        "a move that refuses at times",
        "raises NotImplementedError on some paths: a move could end half done",
        (
            GETTER,
            "    def move_kv_cache(self, a, b):\n        if self.size:\n"
            "            raise NotImplementedError\n"
            f"        self.k_buffer[a] = self.k_buffer[b]\n\n{GETTER}",
        ),
    ),
    _keys(
        "heads before slots",
        "a buffer of shape (1, size + page_size, head_dim) is not slot-major",
        ("(size + page_size, 1, head_dim)", "(1, size + page_size, head_dim)"),
    ),
    _keys(
        "pages with heads inside",
        "is not slot-major",
        ("(size + page_size, 1, head_dim)", "(size, heads, page_size, head_dim)"),
    ),
    _keys(
        "no heads at all",
        "a buffer of shape (size + page_size, head_dim) is not slot-major",
        ("(size + page_size, 1, head_dim)", "(size + page_size, head_dim)"),
    ),
    _keys(
        "a shape from elsewhere",
        "the shape of its buffers is not written out",
        ("torch.zeros((size + page_size, 1, head_dim),", "torch.zeros(the_shape,"),
    ),
    _keys(
        "transposed",
        "`k_buffer` is not in the order of its shape: transpose",
        ("head_dim), device=device)\n", "head_dim), device=device).transpose(0, 1)\n"),
    ),
    _keys(
        "an extra buffer",
        "it also holds `scales`, which is not one of its row buffers",
        (
            "        self.head_dim = head_dim\n",
            "        self.head_dim = head_dim\n"
            "        self.scales = torch.zeros((size, 1), device=device)\n",
        ),
    ),
    _keys(
        "an extra buffer that something else makes",
        "it writes to `scales`, which is not one of its row buffers",
        (
            "        self.head_dim = head_dim\n",
            "        self.head_dim = head_dim\n"
            "        self.scales = scales_for(self)\n",
        ),
        (
            GETTER,
            "    def set_k_buffer(self, layer, loc, cache_k):\n"
            f"        self.scales[layer][loc] = cache_k\n\n{GETTER}",
        ),
    ),
    _keys(
        "no getter",
        "no buffer is handed out by its getters",
        ("        return self.k_buffer[layer_id]\n", "        return None\n"),
    ),
    _keys(
        "no constructor that could take the flag",
        "KeyPool has no constructor that could take enable_kv_cache_copy",
        (KEY_INIT, "    def move_all(self, tgt_loc, src_loc):\n        work(self)\n"),
    ),
    Variant(
        "no constructor to plan moves in",
        (
            (CHIP, CHIP_INIT, ""),
            (CHIP, "        self.copy_ready = False\n", f"        pass\n\n{CREATE}"),
            (ROWS, "        self.copy_ready = False\n", "        self.create()\n"),
        ),
        CHIP,
        "ChipRowPool needs a constructor of its own to plan its moves in",
        "params",
    ),
    _keys(
        "a constructor on one line",
        "set-up-move: found no place for it in KeyPool.__init__",
        (
            KEY_INIT,
            "    def __init__(self, size, page_size, layers, device, head_dim=8): "
            "self.k_buffer = [torch.zeros((size, 1, head_dim))]\n",
        ),
    ),
    _keys(
        "a constructor that returns early",
        "the constructor returns before its end, where moves are planned",
        (
            "        self.head_dim = head_dim\n",
            "        self.head_dim = head_dim\n        if not layers:\n"
            "            self.k_buffer = []\n            return\n",
        ),
    ),
    Variant(
        "slots mapped by subscript",
        ((MAPPED, "self.to_device_slots(loc)", "self.device_slots[loc]"),),
        MAPPED,
        "it maps slots by `self.device_slots[loc]` before it writes (line 22)",
        "mapped",
    ),
    Variant(
        "slots mapped by a function",
        ((MAPPED, "self.to_device_slots(loc)", "to_device(loc)"),),
        MAPPED,
        "it maps slots by `to_device(loc)` before it writes (line 22)",
        "mapped",
    ),
    Variant(
        "slots mapped in place",
        (
            (
                MAPPED,
                "        super().set_kv_buffer(layer, on_device, cache_k, cache_v)\n",
                "        super().set_kv_buffer(layer, on_device + 1, cache_k, cache_v)"
                "\n",
            ),
        ),
        MAPPED,
        "it maps slots by `on_device + 1` before it writes (line 22)",
        "mapped",
    ),
)

SITES = (
    Variant(
        "no sibling",
        (
            (
                BUILD,
                "        enable_kv_cache_copy=(options.speculative is not None),\n",
                "",
            ),
        ),
        BUILD,
        "no sibling pool in this file gets enable_kv_cache_copy",
        flag="spec-only",
    ),
    Variant(
        "a sibling that gets a constant",
        ((BUILD, "(options.speculative is not None)", "True"),),
        BUILD,
        "no sibling pool in this file gets enable_kv_cache_copy",
        flag="spec-only",
    ),
    Variant(
        "siblings that disagree",
        (
            (
                BUILD,
                "def build_layered(",
                "def other(options):\n    return RowPool(1, 1, 1, 'cpu', "
                "enable_kv_cache_copy=options.draft is None)\n\n\ndef build_layered(",
            ),
        ),
        BUILD,
        "sibling pools pass different expressions: ['options.draft is None', ",
        flag="spec-only",
    ),
    Variant(
        "a sibling's own local",
        (
            (
                BUILD,
                "    return RowPool(",
                "    spec = options.spec\n    return RowPool(",
            ),
            (BUILD, "(options.speculative is not None)", "(spec.on is True)"),
        ),
        BUILD,
        "no sibling pool in this file gets enable_kv_cache_copy",
        flag="spec-only",
    ),
    Variant(
        "self of another class",
        ((BUILD, "    def layered(", "class Other(Builder):\n    def layered("),),
        BUILD,
        "no sibling pool in this file gets enable_kv_cache_copy",
        shape="params",
        flag="spec-only",
    ),
    Variant(
        "a site that passes it already",
        (
            (
                BUILD,
                "device=options.device)\n",
                "device=options.device, enable_kv_cache_copy=True)\n",
            ),
        ),
        BUILD,
        "half-edited: already passes enable_kv_cache_copy",
        flag="spec-only",
    ),
)
