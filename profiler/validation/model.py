"""GPT and Llama layers in plain PyTorch, bf16 weights without biases or dropout."""
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint


def rotate(x, cosines, sines):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cosines - odd * sines, even * sines + odd * cosines), -1).flatten(-2)


class Layer(nn.Module):
    def __init__(self, sizes, attention):
        super().__init__()
        self.is_llama = sizes["family"] == "llama"
        self.heads, self.groups = sizes["heads"], sizes["key_value_heads"]
        self.head_size = sizes["hidden"] // sizes["heads"]
        self.is_fused = attention == "fused"
        norm = nn.RMSNorm if self.is_llama else nn.LayerNorm
        hidden, ffn = sizes["hidden"], sizes["ffn"]
        self.norm1, self.norm2 = norm(hidden), norm(hidden)
        self.qkv = nn.Linear(hidden, (self.heads + 2 * self.groups) * self.head_size, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up = nn.Linear(hidden, (2 if self.is_llama else 1) * ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def attend(self, x, angles):
        batch, sequence, _ = x.shape
        q, k, v = self.qkv(x).view(batch, sequence, -1, self.head_size).transpose(1, 2).split(
            (self.heads, self.groups, self.groups), 1)
        if self.is_llama:
            q, k = rotate(q, *angles), rotate(k, *angles)
        backends = None if self.is_fused else SDPBackend.MATH
        shared = {"is_causal": True, "enable_gqa": self.groups != self.heads}
        if backends is None:
            mixed = functional.scaled_dot_product_attention(q, k, v, **shared)
        else:
            with sdpa_kernel(backends):
                mixed = functional.scaled_dot_product_attention(q, k, v, **shared)
        return self.out(mixed.transpose(1, 2).reshape(batch, sequence, -1))

    def forward(self, x, angles):
        x = x + self.attend(self.norm1(x), angles)
        inner = self.up(self.norm2(x))
        if self.is_llama:
            gate, value = inner.chunk(2, -1)
            inner = functional.silu(gate) * value
        else:
            inner = functional.gelu(inner, approximate="tanh")
        return x + self.down(inner)


class Transformer(nn.Module):
    def __init__(self, sizes, sequence, attention, recompute):
        super().__init__()
        self.recompute = recompute == "full"
        is_llama = sizes["family"] == "llama"
        hidden = sizes["hidden"]
        self.tokens = nn.Embedding(sizes["vocabulary"], hidden)
        self.positions = None if is_llama else nn.Embedding(sequence, hidden)
        self.layers = nn.ModuleList(Layer(sizes, attention) for _ in range(sizes["layers"]))
        self.norm = (nn.RMSNorm if is_llama else nn.LayerNorm)(hidden)
        self.head = nn.Linear(hidden, sizes["vocabulary"], bias=False)
        if not is_llama:
            self.head.weight = self.tokens.weight
        half = hidden // sizes["heads"] // 2
        turns = torch.outer(torch.arange(sequence), 500000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cosines", turns.cos(), persistent=False)
        self.register_buffer("sines", turns.sin(), persistent=False)

    def forward(self, tokens, labels):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        angles = (self.cosines, self.sines)
        for layer in self.layers:
            x = checkpoint(layer, x, angles, use_reentrant=False) if self.recompute else layer(x, angles)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


class MasterAdamW:
    """Adam on fp32 copies of bf16 weights. Gradients of micro-batches add up in fp32, as Megatron has it: 18 bytes a
    parameter in all."""

    def __init__(self, model):
        self.pairs = []
        for weight in model.parameters():
            master = nn.Parameter(weight.detach().float())
            master.grad = torch.zeros_like(master)
            self.pairs.append((weight, master))
            weight.register_post_accumulate_grad_hook(lambda w, master=master: self.take(w, master))
        self.optimizer = torch.optim.AdamW([master for _, master in self.pairs], lr=1e-4, fused=True)

    @staticmethod
    def take(weight, master):
        master.grad.add_(weight.grad)
        weight.grad = None

    @torch.no_grad()
    def step(self):
        self.optimizer.step()
        masters = [master for _, master in self.pairs]
        torch._foreach_copy_([weight for weight, _ in self.pairs], masters)
        torch._foreach_zero_([master.grad for master in masters])
