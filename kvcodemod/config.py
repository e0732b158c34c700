"""What the tool looks for, as values with defaults: no rule or edit names a pool."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """The names that carry meaning in SGLang's source.

    Attributes:
        pool_bases: roots of the KV-pool class hierarchy (mem_cache/memory_pool.py).
        allocator_bases: roots of the hierarchy of slot allocators.
        test_folders: folders of the package whose code no server runs.
        pool_words, allocator_words: what fields, parameters and locals that hold one
            are called; a prefix before an underscore does not matter.
        pool_getters: functions and methods that hand out a pool.
        draft_words: words in the name of what belongs to the draft model, and
        draft_option: the condition that holds where its pool is built.
        entry_folders: where the paths that are checked begin, and
        glue_files: files elsewhere where those functions begin one too that speak of
            speculative decoding (see `path_words`).
        helper_folders: where plain functions are followed on the way.
        carrier_files: files whose classes carry an allocator along, so that their
            methods are followed on the way.
        startup_files: where combinations of options are refused before serving.
        path_words: how identifiers begin that name an option of speculative decoding.
        flag: the constructor parameter that makes a pool able to move its rows.
        move: the method speculative decoding calls to move accepted rows.
        write: the method that writes rows at slots; an override that translates its
            slots shows that the pool is addressed by translated slots.
        layout: the attribute that names a pool's physical layout, and
        movable_layouts: its values under which a pool's own move is right.
        key_getters, value_getters: methods that hand out a layer's buffers.
        family: a wrapper known to need the rewrite; used only to word the report
            about a tree in which there is nothing to rewrite.
    """

    pool_bases: tuple[str, ...] = ("KVCache",)
    allocator_bases: tuple[str, ...] = ("BaseTokenToKVPoolAllocator",)
    test_folders: tuple[str, ...] = ("test/",)
    pool_words: tuple[str, ...] = ("token_to_kv_pool", "kvcache")
    allocator_words: tuple[str, ...] = ("token_to_kv_pool_allocator",)
    pool_getters: tuple[str, ...] = ("get_kvcache", "get_token_to_kv_pool")
    draft_words: tuple[str, ...] = ("draft",)
    draft_option: str = "is_draft_worker"
    entry_folders: tuple[str, ...] = ("srt/speculative/",)
    glue_files: tuple[str, ...] = ("srt/managers/scheduler_pp_mixin.py",)
    helper_folders: tuple[str, ...] = ("srt/mem_cache/",)
    carrier_files: tuple[str, ...] = ("srt/managers/schedule_batch.py",)
    startup_files: tuple[str, ...] = ("srt/arg_groups/", "srt/server_args.py")
    path_words: tuple[str, ...] = ("spec", "speculative")
    flag: str = "enable_kv_cache_copy"
    move: str = "move_kv_cache"
    write: str = "set_kv_buffer"
    layout: str = "kv_cache_layout"
    movable_layouts: tuple[str, ...] = ("nhd", "hnd")
    key_getters: tuple[str, ...] = ("_get_key_buffer", "get_key_buffer")
    value_getters: tuple[str, ...] = ("_get_value_buffer", "get_value_buffer")
    family: str = "MiniMaxSparseKVPool"


DEFAULT_NAMES = Names()
