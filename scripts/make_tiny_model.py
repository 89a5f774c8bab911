"""Write a tiny mixture-of-experts model with random weights that a real vLLM can serve.

Runs in the engine's own environment (torch, transformers, tokenizers, safetensors) and needs no network: the
tokenizer is trained here on a few sentences. About 165,000 parameters, 0.35 MB, a context of 512 tokens.

    python make_tiny_model.py FOLDER [--max-shard-size 100KB]
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")

CONTEXT = 512
HIDDEN = 64
EXPERTS = 4
VOCABULARY = 320
END_OF_TEXT, TURN, END_OF_TURN, PAD = "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"
TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SENTENCES = [
    "A small machine starts a large model, and somebody watches its memory.",
    "user assistant system tool: hello, how much is left of it? 0 1 2 3 4 5 6 7 8 9",
    "Refuse rather than hope; measure before you speak; stop what you started.",
    "{ } [ ] ( ) < > : ; , . ! ? \" ' / \\ - _ + = * & % $ # @ ~ ^ | `",
]


def make_tokenizer(folder: Path) -> Any:
    """Train a byte-level tokenizer on the sentences above and save it with its chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END_OF_TEXT, TURN, END_OF_TURN, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TURN,
        pad_token=PAD,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    # some readers look for the template in this file only
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["chat_template"] = TEMPLATE
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return fast


def make_model(folder: Path, tokenizer: Any, max_shard_size: str) -> int:
    """Save a model with random weights; returns the number of its parameters."""
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig, Qwen3MoeConfig

    special = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = Qwen3MoeConfig(
        vocab_size=max(VOCABULARY, len(tokenizer)),
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        moe_intermediate_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        num_experts=EXPERTS,
        num_experts_per_tok=2,
        decoder_sparse_step=1,
        norm_topk_prob=True,
        mlp_only_layers=[],
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-6,
        tie_word_embeddings=False,
        **special,
    )
    config.dtype = "bfloat16"
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).to(torch.bfloat16).eval()
    model.generation_config = GenerationConfig(**special)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    return sum(p.numel() for p in model.parameters())


def main() -> None:
    """Parse the command line and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--max-shard-size", default="5GB", help="100KB gives several shards and an index")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(arguments.folder)
    parameters = make_model(arguments.folder, tokenizer, arguments.max_shard_size)
    print(f"{arguments.folder}: {parameters} parameters")


if __name__ == "__main__":
    main()
