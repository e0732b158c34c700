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
        settings_class: the class whose fields are the options of a server, and
        settings_folders: folders of `startup_files` whose classes' fields are, too, and
        startup_methods: the methods that resolve and check them, in order.
        model_option: the option that names the model; it is never one without weights.
        draft_model_option: the one that names the draft model, where there is one.
        algorithm_option: the option that names the algorithm, and
        width_options: those that say how many drafts a step keeps, and
        worker_factory: the method that names the class which runs the algorithm.
        algorithm_words: what fields and parameters that hold the algorithm are called.
        platforms: what servers run on, as `is_cuda` and the like have it, and
        platform_packages: `package=platform` for packages that are on one only.
        foreign_platforms: those that only code outside the tree runs on, and
        device_functions: functions that return the name of its device.
        device_option: the option that names it, where nobody else does.
        architecture_endings: how the classes of models end that a server can run.
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
    settings_class: str = "ServerArgs"
    settings_folders: tuple[str, ...] = ("srt/arg_groups/fields/",)
    startup_methods: tuple[str, ...] = (
        "__post_init__",
        "resolve_once",
        "check_server_args",
    )
    model_option: str = "model_path"
    draft_model_option: str = "speculative_draft_model_path"
    algorithm_option: str = "speculative_algorithm"
    width_options: tuple[str, ...] = (
        "speculative_eagle_topk",
        "speculative_ngram_max_bfs_breadth",
    )
    algorithm_words: tuple[str, ...] = ("spec_algorithm",)
    worker_factory: str = "create_worker"
    platforms: tuple[str, ...] = ("cuda", "hip", "npu", "xpu", "hpu", "mps", "cpu")
    platform_packages: tuple[str, ...] = (
        "torch_npu=npu",
        "mlx=mps",
        "habana_frameworks=hpu",
    )
    foreign_platforms: tuple[str, ...] = ("out_of_tree",)
    device_functions: tuple[str, ...] = ("get_device",)
    device_option: str = "device"
    architecture_endings: tuple[str, ...] = (
        "ForCausalLM",
        "ForConditionalGeneration",
        "Model",
    )
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
