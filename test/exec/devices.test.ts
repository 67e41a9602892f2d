import { describe, expect, it } from 'vitest';
import { chooseDevice, deviceName } from '../../src/exec/native/devices.js';
import { ArgumentError, DeviceError } from '../../src/host/errors.js';

describe('device names', () => {
  it('are completed: cuda is the first GPU', () => {
    expect(['cpu', 'cuda', 'cuda:0', 'cuda:12'].map(deviceName)).toEqual([
      'cpu',
      'cuda:0',
      'cuda:0',
      'cuda:12',
    ]);
  });

  it('are refused where they name no device', () => {
    for (const name of ['', 'gpu', 'cpu:0', 'cuda:', 'cuda:-1', 'cuda:1.5', 'CUDA', 'cuda:0 ']) {
      expect(() => deviceName(name), name).toThrow(DeviceError);
    }
    for (const value of [0, null, {}, ['cpu']]) expect(() => deviceName(value)).toThrow(ArgumentError);
  });
});

describe('choosing a device', () => {
  it('takes the one that is named', () => {
    expect(chooseDevice('cpu', new Set())).toEqual({ name: 'cpu', reason: 'named by the caller' });
  });

  it('takes the one that holds an input', () => {
    expect(chooseDevice(undefined, new Set(['cuda:3'])).name).toBe('cuda:3');
  });

  it('refuses a GPU that cannot be used, and never takes another device instead', () => {
    expect(() => chooseDevice('cuda:99', new Set())).toThrow(/device 'cuda:99' cannot be used/);
  });

  it('refuses inputs on several devices, or on another than the one named', () => {
    expect(() => chooseDevice(undefined, new Set(['cpu', 'cuda:0']))).toThrow(DeviceError);
    expect(() => chooseDevice('cpu', new Set(['cuda:0']))).toThrow(/an array on 'cuda:0'/);
  });
});
