"""A cross-encoder of three classes, made and trained here in seconds on a world of a few words.

An island has animals of some kinds and lacks others: what a text says of a kind, another text says, or denies, or it
does not speak of it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

ANIMALS = ["goats", "bees", "hens", "pigs", "ducks"]
LABELS = ("contradiction", "entailment", "neutral")
"""In the order of the model's columns."""
_MOST, _LENGTH = 2, 64
_STEPS, _BATCH, _LEARNED = 1_000, 128, 0.001


def there_are(*animals: str, but_no: tuple[str, ...] = ()) -> str:
    """The sentences that tell which animals there are, and which there are not."""
    return " ".join(f"There are {noun}." for noun in (*animals, *(f"no-{lacking}" for lacking in but_no)))


def pairs(seed: int) -> Iterator[tuple[str, str, int]]:
    """Premises and claims, with the column that is right."""
    draw = random.Random(seed)
    while True:
        truths = {animal: draw.random() < 0.5 for animal in draw.sample(ANIMALS, draw.randint(1, _MOST))}
        premise = " ".join(_told(animal, there) for animal, there in truths.items())
        label = draw.choice(LABELS)
        if label == "neutral":
            animal = draw.choice([animal for animal in ANIMALS if animal not in truths])
            yield premise, _told(animal, draw.random() < 0.5), LABELS.index(label)
        else:
            animal = draw.choice(list(truths))
            yield premise, _told(animal, truths[animal] == (label == "entailment")), LABELS.index(label)


def _told(animal: str, there: bool) -> str:
    return there_are(animal) if there else there_are(but_no=(animal,))


def make(folder: Path) -> float:
    """Save a trained model into a folder; returns the share of new pairs that it has right."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(0)
    # On a busy machine several threads wait for each other longer than they work.
    torch.set_num_threads(1)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", "There", "are", *ANIMALS, *(f"no-{animal}" for animal in ANIMALS)]
    vocabulary = {word: n for n, word in enumerate(words)}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+|(?=\.)"), "removed")
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=_LENGTH,
    )
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=128,
        initializer_range=0.2,
        max_position_embeddings=_LENGTH,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(LABELS)),
        label2id={label: n for n, label in enumerate(LABELS)},
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=_STEPS)
    source = pairs(1)

    def batch(size: int) -> tuple[object, object]:
        rows = [next(source) for _ in range(size)]
        read = tokenizer([row[0] for row in rows], [row[1] for row in rows], padding=True, return_tensors="pt")
        return read, torch.tensor([row[2] for row in rows])

    for _ in range(_STEPS):
        read, labels = batch(_BATCH)
        loss = model(**read, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if loss.item() < _LEARNED:
            break
    model.eval()
    source = pairs(2)
    with torch.no_grad():
        read, labels = batch(512)
        right = float((model(**read).logits.argmax(-1) == labels).float().mean())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return right
